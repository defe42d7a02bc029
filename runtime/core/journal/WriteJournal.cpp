// Writing a journal, one synced record at a time.

#include "core/journal/JournalFormat.h"
#include "core/journal/Lock.h"

#include "core/plan/SystemError.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

using namespace etc::runtime;

static Status failed(const std::string &path, int error) {
  return Status(ErrorKind::Usage, text(path, ": cannot write the journal: ",
                                       etc::plan::describeSystemError(error)));
}

Journal::~Journal() {
  if (fd >= 0)
    ::close(fd);
}

void Journal::swap(Journal &other) {
  std::swap(path, other.path);
  std::swap(fd, other.fd);
  std::swap(header, other.header);
  std::swap(position, other.position);
  std::swap(standing_, other.standing_);
}

Result<Journal> Journal::create(const std::string &path, JournalHeader header,
                                uint32_t rounds) {
  header.check = checkOf(header);
  Journal journal;
  journal.path = path;
  journal.header = header;
  // It gets its name when it is one.
  const std::string draft = path + ".part";
  journal.fd = ::open(draft.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (journal.fd < 0)
    return failed(path, errno);
  if (Status s = lockFile(path, journal.fd); !s.ok())
    return s;
  if (::ftruncate(journal.fd, 0) != 0)
    return failed(path, errno);
  // Filled, two a round, Prepared, Decided, Committed, and a few that a resumed
  // run adds.
  const uint64_t size =
      sizeof header + (2 * uint64_t{rounds} + 16) * sizeof(JournalRecord);
  int error = ::posix_fallocate(journal.fd, 0, static_cast<off_t>(size));
  if (error == 0 && (::pwrite(journal.fd, &header, sizeof header, 0) !=
                         static_cast<ssize_t>(sizeof header) ||
                     ::fdatasync(journal.fd) != 0 ||
                     ::link(draft.c_str(), path.c_str()) != 0))
    error = errno;
  ::unlink(draft.c_str());
  return error == 0 ? Result<Journal>(std::move(journal))
                    : Result<Journal>(failed(path, error));
}

Result<Journal> Journal::open(const std::string &path,
                              const JournalContents &contents) {
  Journal journal;
  journal.path = path;
  journal.header = contents.header;
  journal.position = contents.records.size();
  journal.standing_ = contents.standing;
  journal.fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (journal.fd < 0)
    return failed(path, errno);
  Status locked = lockFile(path, journal.fd);
  return locked.ok() ? Result<Journal>(std::move(journal))
                     : Result<Journal>(locked);
}

Status Journal::append(JournalRecord record) {
  (void)advance(standing_, record); // readers refuse what cannot follow
  if (fd < 0)
    return Status::success();
  record.check = checkOf(header, record, position);
  const auto offset =
      static_cast<off_t>(sizeof header + position * sizeof record);
  if (::pwrite(fd, &record, sizeof record, offset) !=
          static_cast<ssize_t>(sizeof record) ||
      ::fdatasync(fd) != 0)
    return failed(path, errno);
  ++position;
  return Status::success();
}
