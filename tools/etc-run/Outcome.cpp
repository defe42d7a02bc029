#include "Outcome.h"

#include "Directory.h"

#include "recovery/RollBack.h"

#include <algorithm>
#include <functional>

using namespace etc::run;
using namespace etc::runtime;
using etc::plan::PlanIndex;

bool etc::run::countsAsFailed(const Options &options, uint32_t device) {
  return std::find(options.failed.begin(), options.failed.end(), device) !=
         options.failed.end();
}

Keeping etc::run::keepingOf(const Options &options,
                            const Survivors &standings) {
  Keeping keeping{options.journal, stateDirectory(options), {}, nullptr};
  for (const std::optional<Standing> &standing : standings)
    keeping.standings.push_back(standing.value_or(Standing()));
  // One commits for all.
  if (keeping.isDecided())
    for (Standing &standing : keeping.standings)
      standing.isDecided = true;
  return keeping;
}

Keeping etc::run::keepingOfAll(const PlanIndex &index, const Options &options,
                               Survivors standings) {
  for (uint32_t rank = 0; rank != index.rankCount(); ++rank)
    if (!standings[rank] && countsAsFailed(options, index.device(rank)))
      standings[rank].emplace().isFilled = true;
  return keepingOf(options, standings);
}

/// Its first words are not those of the old configuration: whoever reads them
/// may be about to delete where the state is.
std::string etc::run::describeUnbegun(const PlanIndex &index,
                                      const Options &options,
                                      const Keeping &keeping) {
  const bool isGivenUp =
      std::any_of(keeping.standings.begin(), keeping.standings.end(),
                  [](const Standing &s) { return s.isRolledBack; });
  return text("not begun: ", countUnfilled(keeping), " of ", index.rankCount(),
              " devices have no previous state yet, so all state is in ",
              describeSource(options),
              isGivenUp
                  ? "; the migration was given up"
                  : text("; etc-run resume ", options.journal, " starts over"));
}

/// What can be done without devices that count as failed: resume and rollback
/// need the files of all.
static std::string describeWayWithout(const Options &options) {
  std::string list;
  for (uint32_t device : options.failed)
    list += text(list.empty() ? "" : ",", device);
  return text("etc-run inventory ", options.journal, " --failed=", list,
              " lists what is left to plan from");
}

/// What etc-run can do with the files of all devices, and without.
static std::string describeWay(const Options &options,
                               const std::string &ofAll) {
  return options.failed.empty()
             ? ofAll
             : text(ofAll,
                    ", with the files of all devices; without those of "
                    "the failed ones, ",
                    describeWayWithout(options));
}

/// Where all devices that are left are done.
static std::string describeDone(const Options &options, const char *which) {
  return options.failed.empty()
             ? text(which, ": every device has the ", which, " configuration")
             : text(which, ": every device but the failed ones has the ", which,
                    " configuration; ", describeWayWithout(options));
}

/// Where a failed device has no journal. It may be further than all others, or
/// have been rolled back.
static std::string describePartly(const Options &options, bool hasLanded) {
  return text(hasLanded ? "resumable: rounds have landed"
                        : "old: nothing has landed on the devices that are "
                          "left",
              "; not every failed device has its journal here: with the files "
              "of all devices, etc-run status ",
              options.journal,
              " says how to go on; without those of the failed ones, ",
              describeWayWithout(options));
}

/// Neither committed nor rolled back, on any device.
static std::string describeUnfinished(const PlanIndex &index,
                                      const Options &options,
                                      const Keeping &keeping, bool hasLanded) {
  const std::string &directory = options.journal;
  if (!hasLanded)
    return describeWay(options,
                       text("old: nothing has landed; etc-run resume ",
                            directory, " starts over, etc-run rollback ",
                            directory, " gives up"));
  const std::string resumes =
      text("resumable: etc-run resume ", directory, " goes on");
  if (checkRollBack(index, keeping).ok())
    return describeWay(
        options, text(resumes, ", etc-run rollback ", directory, " goes back"));
  return options.failed.empty()
             ? resumes + "; the old configuration is released in part"
             : describeWay(options, resumes);
}

static std::vector<Standing> findLeft(const PlanIndex &index,
                                      const Options &options,
                                      const std::vector<Standing> &all) {
  std::vector<Standing> left;
  for (uint32_t rank = 0; rank != index.rankCount(); ++rank)
    if (!countsAsFailed(options, index.device(rank)))
      left.push_back(all[rank]);
  return left;
}

/// Whether all devices that count as failed have their journals here.
static bool areFailedKnown(const PlanIndex &index, const Options &options,
                           const Survivors &standings) {
  for (uint32_t rank = 0; rank != index.rankCount(); ++rank)
    if (countsAsFailed(options, index.device(rank)) && !standings[rank])
      return false;
  return true;
}

std::string etc::run::describeOutcome(const PlanIndex &index,
                                      const Options &options,
                                      const Survivors &standings) {
  const Keeping keeping = keepingOfAll(index, options, standings);
  if (!isBegun(index, keeping))
    return describeUnbegun(index, options, keeping);
  const std::vector<Standing> &all = keeping.standings;
  const std::vector<Standing> left = findLeft(index, options, all);
  auto isCommitted = [](const Standing &s) { return s.isCommitted; };
  auto isRolledBack = [](const Standing &s) { return s.isRolledBack; };
  if (std::all_of(left.begin(), left.end(), isCommitted))
    return describeDone(options, "new");
  // What one has noted of either end is true of all.
  if (keeping.isDecided())
    return describeWay(options,
                       text("new: committed; etc-run resume ", options.journal,
                            " completes ",
                            options.failed.empty()
                                ? text(std::count_if(all.begin(), all.end(),
                                                     std::not_fn(isCommitted)),
                                       " of ", all.size(), " devices")
                                : "it"));
  if (std::all_of(left.begin(), left.end(), isRolledBack))
    return describeDone(options, "old");
  if (std::any_of(all.begin(), all.end(), isRolledBack))
    return describeWay(options,
                       text("old: rolled back in part; etc-run rollback ",
                            options.journal, " completes it"));
  const bool hasLanded = std::any_of(
      all.begin(), all.end(), [](const Standing &s) { return s.landed > 0; });
  return areFailedKnown(index, options, standings)
             ? describeUnfinished(index, options, keeping, hasLanded)
             : describePartly(options, hasLanded);
}
