#include "state/checkpoint/MappedFile.h"

#include "core/plan/InputFile.h"

#include <cerrno>
#include <cstring>
#include <limits>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

using namespace etc::runtime;

Result<MappedFile> MappedFile::open(const std::string &path) {
  Result<plan::InputFile> input =
      plan::InputFile::open(path, std::numeric_limits<uint64_t>::max());
  if (!input)
    return input.status();
  MappedFile file;
  file.bytes = input->size();
  if (file.bytes == 0) // an empty range can't be mapped
    return file;
  void *data =
      ::mmap(nullptr, file.bytes, PROT_READ, MAP_SHARED, input->fd(), 0);
  if (data == MAP_FAILED)
    return Status(ErrorKind::Usage,
                  text(path, ": cannot read: ", std::strerror(errno)));
  file.begin = static_cast<std::byte *>(data);
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
