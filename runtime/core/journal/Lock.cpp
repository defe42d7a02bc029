#include "core/journal/Lock.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <thread>
#include <unistd.h>

using namespace etc::runtime;

/// How long the lock of a process that was just killed may stay.
constexpr auto kLastBreath = std::chrono::milliseconds(1000);

Status etc::runtime::lockFile(const std::string &path, int fd) {
  const auto deadline = std::chrono::steady_clock::now() + kLastBreath;
  while (::flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    if (std::chrono::steady_clock::now() > deadline)
      return Status(ErrorKind::Usage,
                    text(path, ": a process still has this journal; end it "
                               "first"));
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return Status::success();
}

Result<LockedDirectory> LockedDirectory::open(const std::string &path) {
  LockedDirectory directory;
  directory.fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory.fd < 0)
    return Status(ErrorKind::Usage,
                  text(path, ": cannot open: ", std::strerror(errno)));
  Status locked = lockFile(path, directory.fd);
  return locked.ok() ? Result<LockedDirectory>(std::move(directory))
                     : Result<LockedDirectory>(locked);
}

LockedDirectory::~LockedDirectory() {
  if (fd >= 0)
    ::close(fd);
}
