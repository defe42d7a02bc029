#include "Verbs.h"

#include "Directory.h"
#include "Outcome.h"

#include "recovery/RollBack.h"
#include "state/source/StateFiles.h"

#include <algorithm>
#include <iostream>

using namespace etc::run;
using namespace etc::runtime;
using etc::plan::PlanIndex;

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

/// That there is something to look at.
static Status checkSomeAreLeft(const PlanIndex &index, const Options &options) {
  for (uint32_t rank = 0; rank != index.rankCount(); ++rank)
    if (!countsAsFailed(options, index.device(rank)))
      return Status::success();
  return Status(ErrorKind::Usage,
                "--failed: names all devices, so nothing is left; leave out "
                "those whose files are here");
}

/// Takes out the devices that --failed says are gone, though not the last one.
static Status dropSome(const PlanIndex &index, const Options &options,
                       Survivors &standings) {
  Status status = dropFailed(index, options, standings);
  return status.ok() ? checkSomeAreLeft(index, options) : status;
}

/// Of the devices that are left; `needsAll`: a missing journal is a lost one.
static Status checkJournals(const PlanIndex &index, const Options &options,
                            const Survivors &standings, bool needsAll) {
  auto counts = [&](uint32_t rank) {
    return (needsAll || standings[rank]) &&
           !countsAsFailed(options, index.device(rank));
  };
  Status status = checkNotes(index, options.journal, standings, counts);
  return status.ok()
             ? status
             : Status(status.kind(),
                      text(status.message(), "; etc-run inventory ",
                           options.journal,
                           " --failed=DEVICE lists what the others have"));
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
  const Survivors all = *standings;
  if (Status s = checkJournals(index, options, all, true); !s.ok())
    return s;
  if (Status s = dropSome(index, options, *standings); !s.ok())
    return s;
  const Keeping keeping = keepingOfAll(index, options, all);
  std::cout << describeOutcome(index, options, all) << "\n";
  for (uint32_t rank = 0; rank != index.rankCount(); ++rank)
    std::cout << "device " << index.device(rank) << ": "
              << (countsAsFailed(options, index.device(rank)) ? "failed"
                  : (*standings)[rank]
                      ? describeDevice(index, rank, keeping.standings[rank])
                      : "no journal")
              << "\n";
  // Nothing is lost of a migration that has not begun.
  for (const TensorBox &lost : isBegun(index, keeping)
                                   ? findLost(index, *standings)
                                   : std::vector<TensorBox>())
    std::cout << "lost: " << index.describeTensor(lost.tensor)
              << describe(lost.box) << "\n";
  if (options.verify != Verify::Full)
    return Status::success();
  // Of what is left: whether all are decided may be in a journal that is not.
  if (Status s = checkFiles(index, *standings, keepingOf(options, *standings));
      !s.ok())
    return s;
  std::cout << "verified: every element that is left, bit for bit\n";
  return Status::success();
}

Status etc::run::rollBackMigration(const PlanIndex &index,
                                   const Options &options) {
  Result<Survivors> standings = readStandings(index, options.journal);
  if (!standings)
    return standings.status();
  if (Status s = checkJournals(index, options, *standings, true); !s.ok())
    return s;
  const Keeping keeping = keepingOf(options, *standings);
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

/// Why no device that is left has state.
static Status explainNothing(const PlanIndex &index, const Options &options,
                             const Keeping &all) {
  return Status(ErrorKind::Usage, isBegun(index, all)
                                      ? "no device that is left has state"
                                      : describeUnbegun(index, options, all));
}

Status etc::run::printInventory(const PlanIndex &index,
                                const Options &options) {
  Result<Survivors> standings = readStandings(index, options.journal);
  if (!standings)
    return standings.status();
  const Survivors all = *standings;
  if (Status s = checkJournals(index, options, all, false); !s.ok())
    return s;
  if (Status s = dropSome(index, options, *standings); !s.ok())
    return s;
  // Whoever has no journal has nothing.
  const Keeping keeping = keepingOf(options, *standings);
  for (uint32_t rank = 0; rank != index.rankCount(); ++rank)
    if ((*standings)[rank])
      (*standings)[rank] = keeping.standings[rank];
  if (std::none_of(standings->begin(), standings->end(),
                   [](const auto &s) { return s && s->isFilled; }))
    return explainNothing(index, options, keepingOfAll(index, options, all));
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
