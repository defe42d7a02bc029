#include "device/MoveTable.h"

#include <algorithm>
#include <cstring>

using namespace etc::runtime;

MoveTable::~MoveTable() {
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

Status MoveTable::reserve(size_t moves, size_t sums) {
  return grow(moves * sizeof(Move) + tileBytes(moves) +
              sums * sizeof(uint64_t));
}

Status MoveTable::upload(std::span<const Move> moves, size_t sums,
                         cuda::Stream stream) {
  const uint64_t moveBytes = moves.size_bytes();
  sumsOffset = moveBytes + tileBytes(moves.size());
  const uint64_t all = sumsOffset + sums * sizeof(uint64_t);
  if (Status s = grow(all); !s.ok())
    return s;
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

Status MoveTable::addSums(std::span<uint64_t> sums, cuda::Stream stream) {
  std::byte *results = host + sumsOffset;
  if (!sums.empty())
    if (Status s =
            driver.check(driver.cuMemcpyDtoHAsync_v2(results, sumTable,
                                                     sums.size_bytes(), stream),
                         "cannot copy to the host");
        !s.ok())
      return s;
  if (Status s =
          driver.check(driver.cuStreamSynchronize(stream), "a kernel failed");
      !s.ok())
    return s;
  for (size_t i = 0; i != sums.size(); ++i) {
    uint64_t share;
    std::memcpy(&share, results + i * sizeof share, sizeof share);
    sums[i] += share;
  }
  return Status::success();
}
