// A GPU's threads as fibers of one host thread, in random order: a fiber runs
// until it waits for others, or loses its turn at an access to memory. The same
// seed gives the same order.

#ifndef ETC_TEST_KERNELS_FIBERS_H
#define ETC_TEST_KERNELS_FIBERS_H

#include <cstddef>
#include <cstdint>

namespace etc::test {

struct Index {
  unsigned x;
};

struct ThreadPlace {
  Index thread, block, grid;
};

constexpr unsigned kThreads = 256; // of a block
constexpr unsigned kWarp = 32;

const ThreadPlace &currentThread();

/// __syncthreads(). A thread that has ended never comes: CUDA C++ Programming
/// Guide, "Synchronization Functions", wants all of the block's threads there.
void waitForBlock();

/// __shfl_down_sync() of a whole warp.
uint64_t shuffleDown(unsigned mask, uint64_t value, unsigned distance);

void copyAligned(void *to, const void *from, size_t bytes);

} // namespace etc::test

namespace etc::runtime {
struct Move;
}

/// Runs the kernel for the `blocks` of a grid, in random order. Returns what
/// went wrong, or null. The one function that a module exports.
extern "C" __attribute__((visibility("default"))) const char *
etcRunKernel(const etc::runtime::Move *moves, const uint64_t *firstTile,
             uint32_t count, unsigned long long *sums, unsigned grid,
             const unsigned *blocks, size_t blockCount, uint64_t seed);

/// For kernels whose memory is elsewhere than their addresses say: where an
/// access goes, or null where there is no memory.
using Translation = void *(*)(uint64_t address, size_t bytes);
extern "C" __attribute__((visibility("hidden"))) void
etcTranslate(Translation translation);

/// What went wrong in bodies that were called without etcRunKernel(), or null.
extern "C" __attribute__((visibility("hidden"))) const char *
etcTakeKernelFault();

#endif // ETC_TEST_KERNELS_FIBERS_H
