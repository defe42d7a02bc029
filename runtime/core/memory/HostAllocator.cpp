#include "core/memory/HostAllocator.h"

#include "core/plan/SystemError.h"

#include <cstdlib>
#include <sys/mman.h>

using namespace etc::runtime;

/// Smaller buffers come from the heap.
constexpr uint64_t kMappedBytes = 1 << 20;
constexpr uint64_t kAlignment = 256;
constexpr uint64_t kPage = 4096;

static uint64_t roundUp(uint64_t bytes, uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

HostAllocator::~HostAllocator() { shrinkKept(0); }

Result<Buffer> HostAllocator::take(uint64_t bytes) {
  void *data =
      bytes < kMappedBytes
          ? std::aligned_alloc(kAlignment, roundUp(bytes + 1, kAlignment))
          : takeMapped(bytes);
  if (!data)
    return Status(ErrorKind::Usage,
                  text("cannot allocate ", bytes, " bytes of host memory",
                       etc::plan::kMoreMemory));
  return Buffer{static_cast<std::byte *>(data), bytes};
}

std::byte *HostAllocator::takeMapped(uint64_t bytes) {
  const uint64_t size = roundUp(bytes, kPage);
  if (auto same = kept.find(size); same != kept.end()) {
    std::byte *data = same->second;
    kept.erase(same);
    keptBytes -= size;
    return data;
  }
  uint64_t live = liveBytes() + bytes;
  shrinkKept(highWater() > live ? highWater() - live : 0);
  void *data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED)
    return nullptr;
  ::madvise(data, size, MADV_HUGEPAGE); // only a hint: fewer page faults
  return static_cast<std::byte *>(data);
}

void HostAllocator::giveBack(Buffer buffer) {
  if (buffer.bytes < kMappedBytes) {
    std::free(buffer.data);
    return;
  }
  const uint64_t size = roundUp(buffer.bytes, kPage);
  kept.emplace(size, buffer.data);
  keptBytes += size;
}

void HostAllocator::shrinkKept(uint64_t bytes) {
  while (keptBytes > bytes) {
    auto largest = std::prev(kept.end());
    ::munmap(largest->second, largest->first);
    keptBytes -= largest->first;
    kept.erase(largest);
  }
}
