#include "memory/FileAllocator.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace etc::runtime;

FileAllocator::FileAllocator(std::string directory)
    : directory(std::move(directory)) {}

FileAllocator::~FileAllocator() = default;

std::string FileAllocator::path(const std::string &name) const {
  return directory + "/" + name;
}

bool FileAllocator::has(const std::string &name) const {
  return ::access(path(name).c_str(), F_OK) == 0;
}

void FileAllocator::forget(const std::string &name) {
  ::unlink(path(name).c_str());
}

static Status failed(const std::string &path, uint64_t bytes, int error) {
  return Status(ErrorKind::Usage,
                text(path, ": cannot keep ", bytes,
                     " bytes of state: ", std::strerror(error)));
}

Result<Buffer> FileAllocator::take(uint64_t bytes) {
  void *data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (data == MAP_FAILED)
    return Status(ErrorKind::Usage,
                  text("cannot allocate ", bytes, " bytes of host memory"));
  return Buffer{static_cast<std::byte *>(data), bytes};
}

Result<Buffer> FileAllocator::takeNamed(uint64_t bytes,
                                        const std::string &name) {
  std::error_code ignored;
  std::filesystem::create_directories(directory, ignored);
  const std::string file = path(name);
  int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0)
    return failed(file, bytes, errno);
  // Reserves the space now; a file of another size is not ours.
  int error = ::posix_fallocate(fd, 0, static_cast<off_t>(bytes));
  struct stat facts {};
  if (error == 0 && (::fstat(fd, &facts) != 0 ||
                     static_cast<uint64_t>(facts.st_size) != bytes))
    error = EINVAL;
  void *data = MAP_FAILED;
  if (error == 0) {
    data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (data == MAP_FAILED)
      error = errno;
  }
  ::close(fd);
  if (error != 0 && facts.st_size == 0)
    forget(name); // nothing was in it yet
  if (error != 0)
    return failed(file, bytes, error);
  names.emplace(static_cast<std::byte *>(data), name);
  return Buffer{static_cast<std::byte *>(data), bytes};
}

void FileAllocator::giveBack(Buffer buffer) {
  ::munmap(buffer.data, buffer.bytes);
  auto named = names.find(buffer.data);
  if (named == names.end())
    return;
  if (!isKeeping)
    forget(named->second);
  names.erase(named);
}
