#include "state/checkpoint/DraftFile.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

using namespace etc::runtime;

static Status failed(const std::string &path, int error) {
  return Status(ErrorKind::Usage,
                text(path, ": cannot write: ", std::strerror(error),
                     "; make room, or name another directory"));
}

Result<DraftFile> DraftFile::create(const std::string &path, uint64_t bytes) {
  DraftFile file;
  file.path = path;
  file.fd = ::open(file.draft().c_str(),
                   O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file.fd < 0)
    return failed(path, errno);
  if (int error = ::posix_fallocate(file.fd, 0, static_cast<off_t>(bytes)))
    return failed(path, error);
  return file;
}

DraftFile::~DraftFile() {
  if (fd < 0)
    return;
  ::close(fd);
  ::unlink(draft().c_str());
}

void DraftFile::swap(DraftFile &other) {
  std::swap(path, other.path);
  std::swap(fd, other.fd);
}

Status DraftFile::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count < 0)
      return failed(path, errno);
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return Status::success();
}

Status DraftFile::finish() {
  if (::fsync(fd) != 0 || ::rename(draft().c_str(), path.c_str()) != 0)
    return failed(path, errno);
  ::close(fd);
  fd = -1;
  return Status::success();
}
