#include "core/memory/FileAllocator.h"

#include "core/plan/SystemError.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <optional>
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
                text(path, ": cannot keep ", bytes, " bytes of state: ",
                     etc::plan::describeSystemError(error)));
}

Result<Buffer> FileAllocator::take(uint64_t bytes) {
  void *data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (data == MAP_FAILED)
    return Status(ErrorKind::Usage,
                  text("cannot allocate ", bytes, " bytes of host memory",
                       etc::plan::kMoreMemory));
  return Buffer{static_cast<std::byte *>(data), bytes};
}

namespace {

/// An open file, mapped whole.
class OpenFile {
public:
  OpenFile(const std::string &path, int flags)
      : fd(::open(path.c_str(), flags | O_RDWR | O_CLOEXEC, 0600)) {}
  ~OpenFile() {
    if (fd >= 0)
      ::close(fd);
  }
  OpenFile(const OpenFile &) = delete;
  OpenFile &operator=(const OpenFile &) = delete;

  bool isOpen() const { return fd >= 0; }
  /// No size where it is not a regular file.
  std::optional<uint64_t> size() const {
    struct stat facts {};
    return ::fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode)
               ? std::optional<uint64_t>(facts.st_size)
               : std::nullopt;
  }
  /// The next two return an error number, or 0.
  int reserve(uint64_t bytes) {
    return ::posix_fallocate(fd, 0, static_cast<off_t>(bytes));
  }
  int map(uint64_t bytes, std::byte *&data) {
    void *made =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (made == MAP_FAILED)
      return errno;
    data = static_cast<std::byte *>(made);
    return 0;
  }

private:
  const int fd;
};

/// Maps what an earlier allocation left; a file of another size is none.
Result<std::byte *> mapFile(OpenFile &opened, const std::string &file,
                            uint64_t bytes) {
  const std::optional<uint64_t> size = opened.size();
  if (!size)
    return Status(ErrorKind::Usage,
                  file + ": is not a regular file; put the file of the state "
                         "back, or count the device as --failed");
  if (*size != bytes)
    return Status(
        ErrorKind::Usage,
        text(file, ": has ", *size, " bytes where ", bytes,
             " bytes of state belong; put the whole file back, or count "
             "the device as --failed"));
  std::byte *data = nullptr;
  int error = opened.map(bytes, data);
  return error == 0 ? Result<std::byte *>(data)
                    : Result<std::byte *>(failed(file, bytes, error));
}

/// The file gets its name when it has its space: a process that is killed here
/// leaves nothing that looks like state.
Result<std::byte *> makeFile(const std::string &file, uint64_t bytes) {
  const std::string draft = file + ".part";
  OpenFile opened(draft, O_CREAT | O_TRUNC);
  if (!opened.isOpen())
    return failed(file, bytes, errno);
  std::byte *data = nullptr;
  int error = opened.reserve(bytes);
  if (error == 0)
    error = opened.map(bytes, data);
  if (error == 0 && std::rename(draft.c_str(), file.c_str()) != 0) {
    error = errno;
    ::munmap(data, bytes);
  }
  if (error == 0)
    return data;
  ::unlink(draft.c_str());
  return failed(file, bytes, error);
}

} // namespace

Result<Buffer> FileAllocator::takeNamed(uint64_t bytes,
                                        const std::string &name) {
  std::error_code ignored;
  std::filesystem::create_directories(directory, ignored);
  const std::string file = path(name);
  OpenFile found(file, 0);
  if (!found.isOpen() && errno != ENOENT)
    return failed(file, bytes, errno);
  Result<std::byte *> data =
      found.isOpen() ? mapFile(found, file, bytes) : makeFile(file, bytes);
  if (!data)
    return data.status();
  names.emplace(*data, name);
  return Buffer{*data, bytes};
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
