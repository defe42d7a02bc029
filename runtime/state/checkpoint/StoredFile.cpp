#include "state/checkpoint/StoredFile.h"

#include "core/pack/Runs.h"
#include "core/plan/InputFile.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <limits>
#include <sys/stat.h>
#include <unistd.h>

using namespace etc;
using namespace etc::runtime;
using etc::plan::InputFile;

namespace {

/// Shorter runs are read with what follows them.
constexpr uint64_t kBlock = 16 * 1024;
constexpr uint64_t kAnySize = std::numeric_limits<uint64_t>::max();

/// False where the file ends before, or can't be read: errno says why, and is 0
/// at the end.
bool readAt(int fd, void *to, uint64_t at, uint64_t size) {
  auto *data = static_cast<std::byte *>(to);
  while (size > 0) {
    const ssize_t count = ::pread(fd, data, size, static_cast<off_t>(at));
    if (count < 0 && errno == EINTR)
      continue;
    if (count == 0)
      errno = 0;
    if (count <= 0)
      return false;
    data += count, at += static_cast<uint64_t>(count);
    size -= static_cast<uint64_t>(count);
  }
  return true;
}

/// Runs of a tensor, of which those that are near each other come at once.
class RunReader {
public:
  RunReader(int fd, uint64_t end) : fd(fd), end(end) {}

  bool read(std::byte *to, uint64_t at, uint64_t size) {
    if (size >= kBlock)
      return readAt(fd, to, at, size);
    if (at < begin || at + size > begin + held) {
      begin = at, held = std::min(kBlock, end - at);
      if (!readAt(fd, block.data(), begin, held))
        return false;
    }
    std::memcpy(to, block.data() + (at - begin), size);
    return true;
  }

private:
  const int fd;
  const uint64_t end; // of the tensor
  uint64_t begin = 0, held = 0;
  std::array<std::byte, kBlock> block;
};

/// The list at the beginning of a file, or as much of it as may be.
Result<std::string> readStart(const InputFile &file, const std::string &path) {
  std::string start(std::min(sizeof(uint64_t), file.size()), '\0');
  bool isThere = readAt(file.fd(), start.data(), 0, start.size());
  uint64_t length = 0;
  if (isThere && start.size() == sizeof length) {
    std::memcpy(&length, start.data(), sizeof length);
    const uint64_t most = std::min(kMostListBytes, file.size());
    start.resize(sizeof length + std::min(length, most - sizeof length));
    isThere = readAt(file.fd(), start.data(), 0, start.size());
  }
  if (isThere)
    return start;
  return Status(ErrorKind::Usage,
                text(path, ": cannot read: ",
                     errno ? std::strerror(errno) : "it was cut"));
}

} // namespace

StoredFile::Facts StoredFile::Facts::of(int fd) {
  struct stat found {};
  if (::fstat(fd, &found) != 0)
    return {};
  return {found.st_dev, found.st_ino, static_cast<uint64_t>(found.st_size),
          found.st_mtim.tv_sec, found.st_mtim.tv_nsec};
}

Status StoredFile::read() const {
  Result<InputFile> file = InputFile::open(path_, kAnySize);
  if (!file)
    return file.status();
  facts = Facts::of(file->fd());
  Result<std::string> start = readStart(*file, path_);
  if (!start)
    return start.status();
  Result<StoredTensors> parsed = parseSafeTensors(*start, file->size());
  if (!parsed)
    return parsed.status().at(path_);
  tensors = std::move(*parsed);
  return Status::success();
}

Result<const StoredTensors *> StoredFile::list() const {
  std::call_once(isRead, [&] { status = read(); });
  return status.ok() ? Result<const StoredTensors *>(&tensors)
                     : Result<const StoredTensors *>(status);
}

Status StoredFile::copy(const StoredTensor &tensor, BoxView whole, Region to,
                        BoxView part, unsigned elementBytes) const {
  Result<InputFile> file = InputFile::open(path_, kAnySize);
  if (!file)
    return file.status();
  bool isSame = Facts::of(file->fd()) == facts, isRead = isSame;
  RunReader reader(file->fd(), tensor.end);
  forEachRun(whole, to.box, part,
             [&](uint64_t from, uint64_t where, uint64_t elements) {
               isRead =
                   isRead && reader.read(to.data + where * elementBytes,
                                         tensor.begin + from * elementBytes,
                                         elements * elementBytes);
             });
  const int error = isRead ? 0 : errno;
  isSame = isSame && Facts::of(file->fd()) == facts;
  if (isSame && isRead)
    return Status::success();
  if (isSame && error != 0)
    return Status(ErrorKind::Usage,
                  text(path_, ": cannot read: ", std::strerror(error)));
  return Status(ErrorKind::Usage,
                text(path_, ": was replaced or written to since its list of "
                            "tensors was read"));
}
