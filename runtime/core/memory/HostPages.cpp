#include "core/memory/HostPages.h"

#include "core/plan/SystemError.h"

#include <cerrno>
#include <sys/mman.h>

using namespace etc::runtime;

/// Where pages are parked, so much address space at a time: a process of a
/// thousand devices has to find room for all of them.
constexpr uint64_t kParking = uint64_t{4} << 30;

static Status noMemory() {
  return Status(ErrorKind::Usage, text("cannot allocate host memory: ",
                                       etc::plan::describeSystemError(errno)));
}

HostPages::~HostPages() {
  for (Space space : spaces)
    ::munmap(space.data, space.bytes);
}

Result<std::byte *> HostPages::reserve(uint64_t bytes) {
  // As much more as it takes to begin at a page.
  const uint64_t size = bytes + pageBytes();
  void *data = ::mmap(nullptr, size, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED)
    return noMemory();
  spaces.push_back({data, size});
  uint64_t begin = reinterpret_cast<uint64_t>(data) + pageBytes() - 1;
  return reinterpret_cast<std::byte *>(begin / pageBytes() * pageBytes());
}

Result<Page> HostPages::create() {
  if (parking == parkingEnd) {
    Result<std::byte *> space = reserve(kParking);
    if (!space)
      return space.status();
    parking = *space;
    parkingEnd = parking + kParking;
  }
  std::byte *page = parking;
  parking += pageBytes();
  if (::mmap(page, pageBytes(), PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
    return noMemory();
  ::madvise(page, pageBytes(), MADV_HUGEPAGE); // only a hint
  constexpr uint64_t smallPage = 4096;
  for (uint64_t at = 0; at != pageBytes(); at += smallPage)
    *reinterpret_cast<volatile std::byte *>(page + at) = std::byte(0);
  return reinterpret_cast<Page>(page);
}

/// Moves a page; where it was stays taken, so that no other thread's memory
/// can come to lie there.
static bool movePage(void *from, void *to, uint64_t bytes) {
#ifdef MREMAP_DONTUNMAP
  constexpr int flags = MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP;
  return ::mremap(from, bytes, bytes, flags, to) != MAP_FAILED;
#else
  return false;
#endif
}

bool HostPages::areSupported() {
  static const bool supported = [] {
    HostPages pages;
    Result<Page> page = pages.create();
    Result<std::byte *> space = pages.reserve(pages.pageBytes());
    return page && space && pages.map(*page, *space).ok();
  }();
  return supported;
}

void HostPages::destroy(Page page) {
  ::madvise(reinterpret_cast<void *>(page), pageBytes(), MADV_DONTNEED);
}

Status HostPages::map(Page page, std::byte *at) {
  return movePage(reinterpret_cast<void *>(page), at, pageBytes())
             ? Status::success()
             : noMemory();
}

void HostPages::unmap(Page page, std::byte *at) {
  movePage(at, reinterpret_cast<void *>(page), pageBytes());
}
