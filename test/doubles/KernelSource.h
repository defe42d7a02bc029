// The kernels' own source for the CPU, and a loop over its bodies for tables
// that fibers would take too long for.

#ifndef ETC_TEST_KERNELSOURCE_H
#define ETC_TEST_KERNELSOURCE_H

#include "CudaOnHost.h"
#include "core/pack/Kernels.cu"

/// What a launch may have of threads a block.
extern "C" unsigned etcMostThreads() { return kMostThreads; }

extern "C" void etcRunByLoop(const Move *moves, const uint64_t *firstTile,
                             uint32_t count, unsigned long long *sums) {
  for (uint64_t tile = 0; tile != firstTile[count]; ++tile) {
    const uint32_t position = moveOfTile(firstTile, count, tile);
    const Move &move = moves[position];
    for (uint32_t thread = 0; thread != kBlockThreads; ++thread) {
      const uint64_t sum = runTile(move, tile - firstTile[position], thread);
      if (move.sum != kNoSum)
        sums[move.sum] += sum;
    }
  }
}

#endif // ETC_TEST_KERNELSOURCE_H
