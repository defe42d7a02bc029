// One process at a time.

#ifndef ETC_RUNTIME_CORE_JOURNAL_LOCK_H
#define ETC_RUNTIME_CORE_JOURNAL_LOCK_H

#include "core/plan/Status.h"

#include <string>
#include <utility>

namespace etc::runtime {

using plan::ErrorKind;
using plan::Result;
using plan::Status;
using plan::text;

/// Keeps other processes from what `fd` is open on, which errors call `path`,
/// until all descriptors that were copied from it are closed, those of children
/// included. Waits a little for a process that was just killed; the error is of
/// kind Usage. Where the file system knows no locks there is none.
Status lockFile(const std::string &path, int fd);

/// A directory that no other process has locked.
class LockedDirectory {
public:
  static Result<LockedDirectory> open(const std::string &path);
  LockedDirectory() = default;
  LockedDirectory(LockedDirectory &&other) noexcept
      : fd(std::exchange(other.fd, -1)) {}
  LockedDirectory &operator=(LockedDirectory &&other) noexcept {
    std::swap(fd, other.fd);
    return *this;
  }
  ~LockedDirectory();

private:
  int fd = -1;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_JOURNAL_LOCK_H
