// The one kernel: all moves of a round and direction, out of a table.

#include "core/pack/MoveUnits.h"

using namespace etc::runtime;

/// The sum over a warp, at its first thread.
static __device__ uint64_t sumOfWarp(uint64_t value) {
  for (int distance = 16; distance > 0; distance /= 2)
    value += __shfl_down_sync(0xffffffff, value, distance);
  return value;
}

/// What a block's tiles so far add to one of the sums. Thousands of blocks that
/// add to one word wait for each other, so they do it as rarely as they can.
struct BlockSum {
  unsigned long long value;
  uint32_t at;

  /// By one thread, while no other adds.
  __device__ void goOnAt(uint32_t next, unsigned long long *sums) {
    if (next == at)
      return;
    addTo(sums);
    value = 0;
    at = next;
  }

  __device__ void addTo(unsigned long long *sums) const {
    if (at != kNoSum && value != 0)
      atomicAdd(&sums[at], value);
  }
};

extern "C" __global__ void __launch_bounds__(kBlockThreads)
    etc_run_moves(const Move *moves, const uint64_t *firstTile, uint32_t count,
                  unsigned long long *sums) {
  // Bytes, since shared memory takes no initializers.
  __shared__ uint64_t image[sizeof(Move) / sizeof(uint64_t)];
  const Move &move = *reinterpret_cast<const Move *>(image);
  __shared__ uint32_t position;
  __shared__ BlockSum ofBlock;
  if (threadIdx.x == 0)
    ofBlock.at = kNoSum;
  for (uint64_t tile = blockIdx.x; tile < firstTile[count]; tile += gridDim.x) {
    if (threadIdx.x == 0)
      position = moveOfTile(firstTile, count, tile);
    __syncthreads();
    const uint64_t first = firstTile[position];
    if (threadIdx.x < sizeof(Move) / sizeof(uint64_t))
      image[threadIdx.x] =
          reinterpret_cast<const uint64_t *>(&moves[position])[threadIdx.x];
    if (threadIdx.x == 0)
      ofBlock.goOnAt(moves[position].sum, sums);
    __syncthreads();
    uint64_t sum = runTile(move, tile - first, threadIdx.x);
    if (move.sum != kNoSum) {
      sum = sumOfWarp(sum);
      if (threadIdx.x % 32 == 0 && sum != 0)
        atomicAdd(&ofBlock.value, static_cast<unsigned long long>(sum));
    }
    // The next move is loaded behind the next tile's first barrier, and nobody
    // looks at `position` between here and there.
  }
  __syncthreads();
  // Nothing is written to shared memory any more: compiled, all threads read
  // `ofBlock` before they know whether they are the first.
  if (threadIdx.x == 0)
    ofBlock.addTo(sums);
}
