#include "checkpoint/MappedFile.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

using namespace etc::runtime;

Result<MappedFile> MappedFile::open(const std::string &path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat facts {};
  int error = fd < 0 || ::fstat(fd, &facts) != 0 ? errno : 0;
  if (error == 0 && S_ISDIR(facts.st_mode))
    error = EISDIR;
  MappedFile file;
  file.bytes = static_cast<uint64_t>(facts.st_size);
  if (error == 0 && file.bytes > 0) { // an empty range can't be mapped
    void *data = ::mmap(nullptr, file.bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED)
      error = errno;
    else
      file.begin = static_cast<std::byte *>(data);
  }
  if (fd >= 0)
    ::close(fd);
  if (error != 0)
    return Status(ErrorKind::Usage,
                  text(path, ": cannot read: ", std::strerror(error)));
  return file;
}

MappedFile::~MappedFile() {
  if (begin)
    ::munmap(begin, bytes);
}

void MappedFile::swap(MappedFile &other) {
  std::swap(begin, other.begin);
  std::swap(bytes, other.bytes);
}

void MappedFile::drop(uint64_t from, uint64_t to) const {
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  from -= from % page;
  if (begin && from < to)
    ::madvise(begin + from, to - from, MADV_DONTNEED);
}
