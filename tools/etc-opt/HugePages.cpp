//===- HugePages.cpp - The heap on huge pages -----------------------------===//

#include "HugePages.h"

#ifdef ETC_MIMALLOC
#include <mimalloc.h>
#endif
#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>

void etc::useHugePages() {
#ifdef ETC_MIMALLOC
  // For what it maps from here on; the environment has the last word.
  mi_option_set_enabled_default(mi_option_large_os_pages, true);
#endif
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
