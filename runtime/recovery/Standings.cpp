#include "recovery/Standings.h"

#include "core/engine/Keeping.h"
#include "core/plan/Fingerprint.h"

#include <algorithm>
#include <filesystem>
#include <thread>

using namespace etc::runtime;

Result<Survivors> etc::runtime::readStandings(const PlanIndex &index,
                                              const std::string &directory) {
  Survivors standings(index.rankCount());
  const uint64_t fingerprint = etc::plan::fingerprint(index);
  for (uint32_t rank = 0; rank != index.rankCount(); ++rank) {
    const std::string path = journalPath(directory, index.device(rank));
    if (!std::filesystem::exists(path))
      continue;
    Result<JournalContents> contents = readJournal(path);
    if (!contents)
      return contents.status();
    if (contents->header.planHash != fingerprint ||
        contents->header.rank != rank)
      return plan::malformed(path, ": is of another plan");
    standings[rank] = contents->standing;
  }
  return standings;
}

Status
etc::runtime::checkNotes(const PlanIndex &index, const std::string &directory,
                         const Survivors &standings,
                         const std::function<bool(uint32_t rank)> &counts) {
  Result<Survivors> later = readStandings(index, directory);
  if (!later)
    return later.status();
  for (uint32_t rank = 0; rank != index.rankCount(); ++rank)
    for (const std::optional<Standing> &other : standings)
      if (counts(rank) && other)
        if (Status s = checkNoted((*later)[rank].value_or(Standing()), *other);
            !s.ok())
          return s.at(journalPath(directory, index.device(rank)));
  return Status::success();
}

Status etc::runtime::leaveOut(const PlanIndex &index,
                              const std::vector<uint32_t> &devices,
                              Survivors &standings) {
  for (uint32_t device : devices) {
    std::optional<uint32_t> rank = index.rankOf(device);
    if (!rank)
      return Status(ErrorKind::Usage,
                    text("device ", device, " takes no part in the migration"));
    standings[*rank].reset();
  }
  return Status::success();
}

/// Those that have.
static Survivors thoseThatStopped(Survivors survivors) {
  for (auto &standing : survivors)
    if (standing && !standing->isStopped && !standing->isCommitted)
      standing.reset();
  return survivors;
}

static bool areAllThere(const Survivors &survivors) {
  return std::all_of(survivors.begin(), survivors.end(),
                     [](const auto &standing) { return standing.has_value(); });
}

Result<Survivors> etc::runtime::awaitLastNotes(const PlanIndex &index,
                                               const std::string &directory,
                                               const Deadline &deadline) {
  while (true) {
    Result<Survivors> standings = readStandings(index, directory);
    if (!standings)
      return standings;
    Survivors stopped = thoseThatStopped(std::move(*standings));
    if (areAllThere(stopped) || deadline.isOver())
      return stopped;
    std::this_thread::sleep_for(Milliseconds(20));
  }
}
