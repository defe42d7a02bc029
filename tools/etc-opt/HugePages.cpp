//===- HugePages.cpp - The heap on huge pages -----------------------------===//

#include "HugePages.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>

void etc::useHugePages() {
#ifdef MADV_HUGEPAGE
  constexpr uintptr_t hugePage = 2 << 20;
  // mimalloc maps as much at once.
  constexpr size_t segment = 32 << 20;
  void *block = std::malloc(1);
  madvise(reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(block) &
                                   ~(hugePage - 1)),
          segment, MADV_HUGEPAGE);
  std::free(block);
#endif
}
