#include "recovery/RollBack.h"

#include "core/memory/FileAllocator.h"

#include <algorithm>
#include <filesystem>

using namespace etc::runtime;

static Status refuse(const std::string &why) {
  return Status(ErrorKind::Usage, "cannot roll back: " + why);
}

static Status checkReleases(const PlanIndex &index, const Keeping &keeping) {
  const std::vector<Standing> &all = keeping.standings;
  if (std::all_of(all.begin(), all.end(),
                  [](const Standing &s) { return s.isCommitted; }))
    return refuse(text("the migration is complete; plan the way back as a new "
                       "one, with etc-opt --prev=",
                       keeping.journals, "/plan.etcplan"));
  if (keeping.isDecided())
    return refuse("the migration is committed; etc-run resume completes it");
  for (uint32_t rank = 0; rank != index.rankCount(); ++rank) {
    const uint32_t program = index.participant(rank).program;
    for (etc::plan::Holding holding : index.holdings(program, Side::Prev))
      if (isReleased(index, program, holding.tensor,
                     keeping.standings[rank].released))
        return refuse(
            text("device ", index.device(rank), " has released ",
                 index.describeTensor(holding.tensor),
                 "; go forward with etc-run resume, or plan the way back with "
                 "etc-opt --prev=INVENTORY.json (etc-run inventory)"));
  }
  return Status::success();
}

size_t etc::runtime::countUnfilled(const Keeping &keeping) {
  return std::count_if(
      keeping.standings.begin(), keeping.standings.end(),
      [](const Standing &standing) { return !standing.isFilled; });
}

bool etc::runtime::isBegun(const PlanIndex &index, const Keeping &keeping) {
  return countUnfilled(keeping) == 0 || !checkReleases(index, keeping).ok();
}

Status etc::runtime::checkRollBack(const PlanIndex &index,
                                   const Keeping &keeping) {
  if (Status s = checkReleases(index, keeping); !s.ok())
    return s;
  if (const size_t count = countUnfilled(keeping); count > 0)
    return refuse(text("not begun: ", count, " of ", index.rankCount(),
                       " devices have no previous state yet"));
  return Status::success();
}

/// Whether no process still has a journal, and all are of this mode. They are
/// looked at one by one: together they may be more than a process can open.
static Status checkJournals(const PlanIndex &index, const Keeping &keeping,
                            Mode mode) {
  for (uint32_t rank = 0; rank != index.rankCount(); ++rank) {
    const std::string path = journalPath(keeping.journals, index.device(rank));
    if (!std::filesystem::exists(path))
      continue;
    Result<Journal> journal = openJournal(keeping, index, rank, mode);
    if (!journal)
      return journal.status();
  }
  return Status::success();
}

Status etc::runtime::rollBack(const PlanIndex &index, const Keeping &keeping,
                              Mode mode) {
  if (Status s = checkRollBack(index, keeping); !s.ok())
    return s;
  // A process that goes on would not hear of the first note.
  if (Status s = checkJournals(index, keeping, mode); !s.ok())
    return s;
  // All notes come before the first byte goes.
  for (uint32_t rank = 0; rank != index.rankCount(); ++rank) {
    if (keeping.standings[rank].isRolledBack)
      continue;
    Result<Journal> journal = openJournal(keeping, index, rank, mode);
    if (!journal)
      return journal.status();
    if (Status s = journal->append(Event::RolledBack); !s.ok())
      return s;
  }
  for (uint32_t rank = 0; rank != index.rankCount(); ++rank) {
    FileAllocator files(statePath(keeping.state, index.device(rank)));
    for (Side side : {Side::Curr, Side::Transit})
      for (etc::plan::Holding holding :
           index.holdings(index.participant(rank).program, side))
        files.forget(memoryName(side, holding.tensor));
  }
  return Status::success();
}
