#include "Verbs.h"

#include "Directory.h"

#include "recovery/RollBack.h"
#include "state/source/StateFiles.h"

#include <algorithm>
#include <iostream>

using namespace etc::run;
using namespace etc::runtime;
using etc::plan::PlanIndex;

/// What a directory says, as a new attempt would take it up.
static Keeping keepingOf(const PlanIndex &index, const Options &options,
                         const Survivors &standings) {
  Keeping keeping{options.journal, stateDirectory(options), {}, nullptr};
  for (uint32_t rank = 0; rank != index.rankCount(); ++rank)
    keeping.standings.push_back(standings[rank].value_or(Standing()));
  // One commits for all.
  if (keeping.isDecided())
    for (Standing &standing : keeping.standings)
      standing.isDecided = true;
  return keeping;
}

static uint32_t roundsOf(const PlanIndex &index, uint32_t rank) {
  return index.program(index.participant(rank).program).rounds()->size();
}

/// How far it is behind the pause: its parameters are there. The last of its
/// own rounds may be one of the pause.
static std::string describeTail(const PlanIndex &index, uint32_t rank,
                                const Standing &standing) {
  const uint32_t rounds = roundsOf(index, rank),
                 first = std::min(index.firstDeferredRound(), rounds);
  if (!index.hasTail() || standing.landed < first)
    return "";
  return text(" (the pause is over, ", standing.landed - first, " of ",
              rounds - first, " deferred)");
}

static std::string describeDevice(const PlanIndex &index, uint32_t rank,
                                  const Standing &standing) {
  if (standing.isRolledBack)
    return "rolled back";
  if (standing.isCommitted)
    return "committed";
  if (standing.isDecided)
    return "to be committed";
  if (!standing.isFilled)
    return "has no previous state yet";
  return text(standing.landed, " of ", roundsOf(index, rank), " rounds landed",
              describeTail(index, rank, standing), ", ", standing.released,
              " released", standing.isPrepared ? ", prepared" : "",
              standing.isStopped ? ", stopped" : "");
}

/// Devices that are gone need no previous state.
static bool hasBegun(const PlanIndex &index, const Options &options,
                     Keeping keeping) {
  for (uint32_t device : options.failed)
    if (auto rank = index.rankOf(device))
      keeping.standings[*rank].isFilled = true;
  return isBegun(index, keeping);
}

/// Its first words are not those of the old configuration: whoever reads them
/// may be about to delete where the state is.
static std::string describeUnbegun(const PlanIndex &index,
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

static bool countsAsFailed(const Options &options, uint32_t device) {
  return std::find(options.failed.begin(), options.failed.end(), device) !=
         options.failed.end();
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

/// The first word is the state that the migration ended in; scripts rely on it.
static std::string describeWhole(const PlanIndex &index, const Options &options,
                                 const Keeping &keeping) {
  const std::string &directory = options.journal;
  std::vector<Standing> left;
  for (uint32_t rank = 0; rank != index.rankCount(); ++rank)
    if (!countsAsFailed(options, index.device(rank)))
      left.push_back(keeping.standings[rank]);
  auto count = [&](auto test) {
    return static_cast<size_t>(std::count_if(left.begin(), left.end(), test));
  };
  const size_t rolledBack =
                   count([](const Standing &s) { return s.isRolledBack; }),
               committed =
                   count([](const Standing &s) { return s.isCommitted; }),
               begun = count([](const Standing &s) { return s.landed > 0; });
  if (committed == left.size())
    return describeDone(options, "new");
  if (keeping.isDecided())
    return describeWay(options,
                       text("new: committed; etc-run resume ", directory,
                            " completes ", left.size() - committed, " of ",
                            index.rankCount(), " devices"));
  if (rolledBack == left.size())
    return describeDone(options, "old");
  if (rolledBack > 0)
    return describeWay(options,
                       text("old: rolled back in part; etc-run rollback ",
                            directory, " completes it"));
  if (begun == 0)
    return describeWay(options,
                       text("old: nothing has landed; etc-run resume ",
                            directory, " starts over, etc-run rollback ",
                            directory, " gives up"));
  const std::string resumes =
      text("resumable: etc-run resume ", directory, " goes on");
  if (!options.failed.empty())
    return describeWay(options, resumes);
  return text(resumes,
              checkRollBack(index, keeping).ok()
                  ? text(", etc-run rollback ", directory, " goes back")
                  : "; the old configuration is released in part");
}

/// The bytes themselves, as far as the formula filled them.
static Status checkFiles(const PlanIndex &index, const Survivors &standings,
                         const Keeping &keeping) {
  for (uint32_t rank = 0; rank != index.rankCount(); ++rank) {
    if (!standings[rank])
      continue;
    DeviceFiles files(index, rank, keeping.standings[rank], keeping.state);
    if (Status s = files.open(); !s.ok())
      return s;
    if (Status s = files.check(); !s.ok())
      return s;
  }
  return Status::success();
}

Status etc::run::printStatus(const PlanIndex &index, const Options &options) {
  Result<Survivors> standings = readStandings(index, options.journal);
  if (!standings)
    return standings.status();
  if (Status s = dropFailed(index, options, *standings); !s.ok())
    return s;
  const Keeping keeping = keepingOf(index, options, *standings);
  const bool begun = hasBegun(index, options, keeping);
  std::cout << (begun ? describeWhole(index, options, keeping)
                      : describeUnbegun(index, options, keeping))
            << "\n";
  for (uint32_t rank = 0; rank != index.rankCount(); ++rank)
    std::cout << "device " << index.device(rank) << ": "
              << (countsAsFailed(options, index.device(rank)) ? "failed"
                  : (*standings)[rank]
                      ? describeDevice(index, rank, keeping.standings[rank])
                      : "no journal")
              << "\n";
  // Nothing is lost of a migration that has not begun.
  for (const TensorBox &lost :
       begun ? findLost(index, *standings) : std::vector<TensorBox>())
    std::cout << "lost: " << index.describeTensor(lost.tensor)
              << describe(lost.box) << "\n";
  if (options.verify != Verify::Full)
    return Status::success();
  if (Status s = checkFiles(index, *standings, keeping); !s.ok())
    return s;
  std::cout << "verified: every element that is left, bit for bit\n";
  return Status::success();
}

Status etc::run::rollBackMigration(const PlanIndex &index,
                                   const Options &options) {
  Result<Survivors> standings = readStandings(index, options.journal);
  if (!standings)
    return standings.status();
  const Keeping keeping = keepingOf(index, options, *standings);
  if (!isBegun(index, keeping))
    return Status(ErrorKind::Usage,
                  "cannot roll back: " +
                      describeUnbegun(index, options, keeping));
  Status status = rollBack(index, keeping, options.mode);
  if (status.ok())
    std::cout << "rolled back: every device has the old configuration\n";
  return status;
}

/// What is lost but is in a checkpoint counts as what the survivors have: they
/// read it when they begin.
static Status addRestored(const PlanIndex &index, const Options &options,
                          const Survivors &standings, Inventory &inventory) {
  Result<Checkpoint> checkpoint = Checkpoint::open(options.restoreFrom);
  if (!checkpoint)
    return checkpoint.status();
  const std::vector<TensorBox> lost = findUnheld(index, standings);
  uint64_t bytes = 0;
  for (const TensorBox &box : lost) {
    if (Status s = checkpoint->check(index, box.tensor); !s.ok())
      return s;
    bytes += volume(box.box) * index.elementBytes(box.tensor);
  }
  share(index, lost, inventory);
  std::cout << "to restore: " << bytes << " bytes in " << lost.size()
            << (lost.size() == 1 ? " box\n" : " boxes\n");
  return Status::success();
}

Status etc::run::printInventory(const PlanIndex &index,
                                const Options &options) {
  Result<Survivors> standings = readStandings(index, options.journal);
  if (!standings)
    return standings.status();
  if (Status s = dropFailed(index, options, *standings); !s.ok())
    return s;
  // Whoever has no journal has nothing.
  const Keeping keeping = keepingOf(index, options, *standings);
  for (uint32_t rank = 0; rank != index.rankCount(); ++rank)
    if ((*standings)[rank])
      (*standings)[rank] = keeping.standings[rank];
  if (countUnfilled(keeping) == index.rankCount())
    return Status(ErrorKind::Usage, describeUnbegun(index, options, keeping));
  Inventory inventory = takeInventory(index, *standings);
  if (!options.restoreFrom.empty())
    if (Status s = addRestored(index, options, *standings, inventory); !s.ok())
      return s;
  const std::string path = options.journal + "/inventory.json";
  Status status = writeInventory(index, inventory, path);
  if (status.ok())
    std::cout << path << "\n";
  return status;
}
