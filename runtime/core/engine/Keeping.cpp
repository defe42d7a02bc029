#include "core/engine/Keeping.h"

#include "core/device/HostWorker.h"
#include "core/plan/Fingerprint.h"

#include <algorithm>
#include <filesystem>

using namespace etc::runtime;

bool Keeping::isDecided() const {
  return std::any_of(standings.begin(), standings.end(),
                     [](const Standing &standing) {
                       return standing.isDecided || standing.isCommitted;
                     });
}

std::string etc::runtime::journalPath(const std::string &directory,
                                      uint32_t device) {
  return text(directory, "/device-", device, ".journal");
}

std::string etc::runtime::statePath(const std::string &directory,
                                    uint32_t device) {
  return text(directory, "/device-", device);
}

std::unique_ptr<Worker> etc::runtime::makeHostWorker(const Keeping &keeping,
                                                     uint32_t device) {
  return keeping.state.empty()
             ? makeHostWorker()
             : makeFileWorker(statePath(keeping.state, device));
}

/// Whether a journal is of this plan, device and mode: what may be released
/// follows from the mode that it says.
static Status checkHeader(const JournalHeader &found,
                          const JournalHeader &expected,
                          const std::string &path) {
  if (found.planHash != expected.planHash)
    return etc::plan::malformed(path, ": is of another plan");
  if (found.device != expected.device || found.rank != expected.rank ||
      found.rankCount != expected.rankCount)
    return etc::plan::malformed(path, ": is of device ", found.device,
                                ", rank ", found.rank, " of ", found.rankCount);
  if (found.mode != expected.mode)
    return Status(ErrorKind::Usage,
                  text(path, ": was begun with --mode=", modeName(found.mode),
                       "; go on with the same"));
  return Status::success();
}

/// Whether a journal that is locked now is what was read before: the process
/// that had it may have gone on until it ended.
static Status checkUnchanged(const std::string &path,
                             const JournalContents &read,
                             const Standing &known) {
  Result<JournalContents> now = readJournal(path);
  if (!now)
    return now.status();
  if (now->records.size() == read.records.size() &&
      now->standing.landed == known.landed &&
      now->standing.isCommitted == known.isCommitted)
    return Status::success();
  return Status(ErrorKind::Usage,
                text(path, ": another process went on with it meanwhile; look "
                           "again with etc-run status"));
}

Result<Journal> etc::runtime::openJournal(const Keeping &keeping,
                                          const PlanIndex &index, uint32_t rank,
                                          Mode mode) {
  if (keeping.journals.empty())
    return Journal();
  JournalHeader header;
  header.planHash = plan::fingerprint(index);
  header.device = index.device(rank);
  header.rank = rank;
  header.rankCount = index.rankCount();
  header.mode = mode;
  const std::string path = journalPath(keeping.journals, header.device);
  for (const Standing &other : keeping.standings)
    if (Status s = checkNoted(keeping.standings[rank], other); !s.ok())
      return s.at(path);
  // A process may have died before it made one.
  if (!keeping.isResumed() || !std::filesystem::exists(path))
    return Journal::create(
        path, header,
        index.program(index.participant(rank).program).rounds()->size());
  Result<JournalContents> contents = readJournal(path);
  if (!contents)
    return contents.status();
  if (Status s = checkHeader(contents->header, header, path); !s.ok())
    return s;
  Result<Journal> journal = Journal::open(path, *contents);
  if (!journal)
    return journal;
  Status still = checkUnchanged(path, *contents, keeping.standings[rank]);
  return still.ok() ? std::move(journal) : Result<Journal>(still);
}
