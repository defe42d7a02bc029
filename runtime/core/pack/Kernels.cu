// The one kernel: all moves of a round and direction, out of a table.

#include "core/pack/MoveUnits.h"

using namespace etc::runtime;

/// The sum over a warp, at its first thread.
static __device__ uint64_t sumOfWarp(uint64_t value) {
  for (int distance = 16; distance > 0; distance /= 2)
    value += __shfl_down_sync(0xffffffff, value, distance);
  return value;
}

/// Adds what a block's threads have to a sum. Thousands of blocks that add to
/// one word wait for each other, so they do it as rarely as they can.
static __device__ void addTo(unsigned long long *sums, uint32_t at,
                             uint64_t value) {
  if (at == kNoSum)
    return;
  value = sumOfWarp(value);
  if (threadIdx.x % 32 == 0 && value != 0)
    atomicAdd(&sums[at], static_cast<unsigned long long>(value));
}

extern "C" __global__ void __launch_bounds__(kBlockThreads)
    etc_run_moves(const Move *moves, const uint64_t *firstTile, uint32_t count,
                  unsigned long long *sums) {
  // Bytes, since shared memory takes no initializers.
  __shared__ uint64_t image[sizeof(Move) / sizeof(uint64_t)];
  const Move &move = *reinterpret_cast<const Move *>(image);
  __shared__ uint32_t position;
  const uint64_t tiles = firstTile[count];
  // Of the tiles so far, if they are of one message.
  uint64_t sum = 0;
  uint32_t sumAt = kNoSum;
  for (uint64_t tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    if (threadIdx.x == 0)
      position = moveOfTile(firstTile, count, tile);
    __syncthreads();
    const uint64_t first = firstTile[position];
    if (threadIdx.x < sizeof(Move) / sizeof(uint64_t))
      image[threadIdx.x] =
          reinterpret_cast<const uint64_t *>(&moves[position])[threadIdx.x];
    __syncthreads();
    if (move.sum != sumAt) {
      addTo(sums, sumAt, sum);
      sum = 0;
      sumAt = move.sum;
    }
    sum += runTile(move, tile - first, threadIdx.x);
    // The next move is loaded behind the next tile's first barrier, and nobody
    // looks at `position` between here and there.
  }
  addTo(sums, sumAt, sum);
}
