#include "engine/Keeping.h"

#include "device/HostWorker.h"

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

/// Whether a journal is of this plan and device.
static Status checkHeader(const JournalHeader &found,
                          const JournalHeader &expected,
                          const std::string &path) {
  if (found.planHash != expected.planHash)
    return etc::plan::malformed(path, ": is of another plan");
  if (found.device != expected.device || found.rank != expected.rank ||
      found.rankCount != expected.rankCount)
    return etc::plan::malformed(path, ": is of device ", found.device,
                                ", rank ", found.rank, " of ", found.rankCount);
  return Status::success();
}

Result<Journal> etc::runtime::openJournal(const Keeping &keeping,
                                          const PlanIndex &index, uint32_t rank,
                                          Mode mode) {
  if (keeping.journals.empty())
    return Journal();
  JournalHeader header;
  header.planHash = index.plan().hash();
  header.device = index.device(rank);
  header.rank = rank;
  header.rankCount = index.rankCount();
  header.mode = mode;
  const std::string path = journalPath(keeping.journals, header.device);
  // A process may have died before it made one.
  if (!keeping.isResumed() || !std::filesystem::exists(path))
    return Journal::create(
        path, header,
        index.program(index.place(rank).program).rounds()->size());
  Result<JournalContents> contents = readJournal(path);
  if (!contents)
    return contents.status();
  if (Status s = checkHeader(contents->header, header, path); !s.ok())
    return s;
  return Journal::open(path, *contents);
}
