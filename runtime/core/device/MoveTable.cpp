#include "core/device/MoveTable.h"

#include "core/pack/Copy.h"

#include <algorithm>
#include <cstring>

using namespace etc::runtime;

MoveTable::~MoveTable() {
  if (event)
    driver.cuEventDestroy_v2(event);
  for (Memory memory : memories) {
    if (memory.host)
      driver.cuMemFreeHost(memory.host);
    if (memory.device)
      driver.cuMemFree_v2(memory.device);
  }
}

/// Each time to twice the size, so that what is kept is no more than what is in
/// use.
Status MoveTable::grow(uint64_t bytes) {
  if (bytes <= capacity)
    return Status::success();
  const uint64_t size = std::max(bytes, 2 * capacity);
  Memory &memory = memories.emplace_back();
  void *pinned = nullptr;
  if (Status s = driver.check(driver.cuMemHostAlloc(&pinned, size, 0),
                              "cannot allocate pinned memory");
      !s.ok())
    return s;
  memory.host = static_cast<std::byte *>(pinned);
  if (Status s = driver.check(driver.cuMemAlloc_v2(&memory.device, size),
                              "cannot allocate device memory");
      !s.ok())
    return s;
  host = memory.host;
  device = memory.device;
  capacity = size;
  return Status::success();
}

static uint64_t tileBytes(size_t moves) {
  return (moves + 1) * sizeof(uint64_t);
}

static uint64_t bytesOf(size_t moves, size_t sums) {
  return moves * sizeof(Move) + tileBytes(moves) + sums * sizeof(uint64_t);
}

bool MoveTable::hasRoom(size_t moves, size_t sums) const {
  return event && bytesOf(moves, sums) <= capacity;
}

Move MoveTable::idleMove() const {
  return hashMove(reinterpret_cast<const std::byte *>(device), kUnitBytes);
}

Status MoveTable::reserve(size_t moves, size_t sums) {
  if (!event)
    if (Status s = driver.check(driver.cuEventCreate(&event, cuda::kNoTiming),
                                "cannot make an event");
        !s.ok())
      return s;
  return grow(bytesOf(moves, sums));
}

Status MoveTable::upload(std::span<const Move> moves, size_t sums,
                         cuda::Stream stream) {
  const uint64_t moveBytes = moves.size_bytes();
  sumsOffset = moveBytes + tileBytes(moves.size());
  const uint64_t all = sumsOffset + sums * sizeof(uint64_t);
  std::memcpy(host, moves.data(), moveBytes);
  auto *first = reinterpret_cast<uint64_t *>(host + moveBytes);
  tileCount = 0;
  for (const Move &move : moves) {
    *first++ = tileCount;
    tileCount += tilesOf(move);
  }
  *first = tileCount;
  std::memset(host + sumsOffset, 0, sums * sizeof(uint64_t));
  moveTable = device;
  firstTiles = device + moveBytes;
  sumTable = device + sumsOffset;
  count = static_cast<uint32_t>(moves.size());
  return driver.check(driver.cuMemcpyHtoDAsync_v2(device, host, all, stream),
                      "cannot copy to the device");
}

/// Enough blocks for every processor's threads; they share out the tiles.
Status MoveTable::launch(const MoveKernel &kernel, std::span<const Move> moves,
                         size_t sums, cuda::Stream stream) {
  if (Status s = upload(moves, sums, stream); !s.ok())
    return s;
  isInUse_ = true;
  const auto blocks =
      static_cast<unsigned>(std::min(tileCount, kernel.mostBlocks));
  if (blocks > 0)
    if (Status s = driver.check(
            driver.cuLaunchKernel(kernel.function, blocks, 1, 1, kBlockThreads,
                                  1, 1, 0, stream, pointers, nullptr),
            "cannot launch");
        !s.ok())
      return s;
  if (sums > 0)
    if (Status s = driver.check(
            driver.cuMemcpyDtoHAsync_v2(host + sumsOffset, sumTable,
                                        sums * sizeof(uint64_t), stream),
            "cannot copy to the host");
        !s.ok())
      return s;
  return driver.check(driver.cuEventRecord(event, stream),
                      "cannot record an event");
}

bool MoveTable::isDone() const {
  return driver.cuEventQuery(event) != cuda::kNotReady;
}

Status MoveTable::collect(std::span<uint64_t> sums) {
  if (Status s =
          driver.check(driver.cuEventSynchronize(event), "a kernel failed");
      !s.ok())
    return s;
  isInUse_ = false;
  for (size_t i = 0; i != sums.size(); ++i) {
    uint64_t share;
    std::memcpy(&share, host + sumsOffset + i * sizeof share, sizeof share);
    sums[i] += share;
  }
  return Status::success();
}
