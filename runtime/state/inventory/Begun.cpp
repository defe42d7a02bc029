#include "state/inventory/Begun.h"

#include <filesystem>

using namespace etc::runtime;

Result<bool> etc::runtime::hasBegun(const std::string &directory) {
  std::error_code error;
  std::filesystem::directory_iterator entries(directory, error);
  if (error)
    return Status(ErrorKind::Usage,
                  text(directory, ": cannot read it: ", error.message()));
  uint32_t ranks = 0, filled = 0, rolledBack = 0;
  for (const auto &entry : entries) {
    if (entry.path().extension() != ".journal")
      continue;
    Result<JournalContents> journal = readJournal(entry.path());
    if (!journal)
      return journal.status();
    ranks = std::max(ranks, journal->header.rankCount);
    filled += journal->standing.isFilled;
    rolledBack += journal->standing.isRolledBack;
  }
  if (ranks == 0)
    return Status(ErrorKind::Usage,
                  text(directory, ": holds no journal of a migration"));
  return filled >= ranks && rolledBack < ranks;
}
