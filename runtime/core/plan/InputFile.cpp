#include "core/plan/InputFile.h"

#include "core/plan/SystemError.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <new>
#include <sys/stat.h>
#include <unistd.h>

using namespace etc::plan;

/// Of one read of a file that does not tell its size.
constexpr uint64_t kReadBytes = 64 * 1024;

static Status failed(const std::string &path, const char *what, int error) {
  return Status(ErrorKind::Usage, text(path, ": cannot ", what, ": ",
                                       describeSystemError(error)));
}

static const char *nameKind(mode_t mode) {
  switch (mode & S_IFMT) {
  case S_IFDIR:
    return "directory";
  case S_IFIFO:
    return "FIFO";
  case S_IFSOCK:
    return "socket";
  case S_IFCHR:
  case S_IFBLK:
    return "device";
  default:
    return "special file";
  }
}

static Status tooLarge(const std::string &path, uint64_t mostBytes) {
  return Status(ErrorKind::Usage,
                text(path, ": larger than ", mostBytes, " bytes, the limit"));
}

Result<InputFile> InputFile::open(const std::string &path, uint64_t mostBytes) {
  // A FIFO that nobody writes to would block without O_NONBLOCK, which does
  // nothing to a regular file.
  InputFile file(
      path, ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC),
      mostBytes);
  struct stat facts {};
  if (file.fd_ < 0 || ::fstat(file.fd_, &facts) != 0) {
    if (errno == ENXIO) // what opening a socket gives
      return Status(ErrorKind::Usage,
                    path + ": expected a regular file, got a socket");
    return failed(path, "open", errno);
  }
  if (!S_ISREG(facts.st_mode))
    return Status(ErrorKind::Usage,
                  text(path, ": expected a regular file, got a ",
                       nameKind(facts.st_mode)));
  file.size_ = static_cast<uint64_t>(facts.st_size);
  if (file.size_ > mostBytes)
    return tooLarge(path, mostBytes);
  return file;
}

InputFile::~InputFile() {
  if (fd_ >= 0)
    ::close(fd_);
}

Result<std::string> InputFile::read() const try {
  std::string content;
  uint64_t length = 0;
  // One byte more than the size says, to see the end.
  content.resize(std::max(size_ + 1, kReadBytes));
  while (true) {
    const ssize_t count =
        ::pread(fd_, content.data() + length, content.size() - length,
                static_cast<off_t>(length));
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return failed(path_, "read", errno);
    length += static_cast<uint64_t>(count);
    if (length > mostBytes)
      return tooLarge(path_, mostBytes);
    if (count == 0)
      break;
    if (length == content.size())
      content.resize(2 * content.size());
  }
  content.resize(length);
  return content;
} catch (const std::bad_alloc &) {
  return Status(ErrorKind::Usage, path_ + ": out of memory" + kMoreMemory);
}

Result<std::string> etc::plan::readInput(const std::string &path,
                                         uint64_t mostBytes) {
  Result<InputFile> file = InputFile::open(path, mostBytes);
  return file ? file->read() : Result<std::string>(file.status());
}
