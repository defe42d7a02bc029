// Moves on their way to the kernel: one table, uploaded at once.

#ifndef ETC_RUNTIME_DEVICE_MOVETABLE_H
#define ETC_RUNTIME_DEVICE_MOVETABLE_H

#include "device/CudaDriver.h"
#include "memory/Allocator.h"
#include "pack/MoveUnits.h"

#include <span>
#include <vector>

namespace etc::runtime {

/// Memory on both sides is kept from table to table, and none is freed before
/// the end: that may wait for all that the device does.
class MoveTable {
public:
  explicit MoveTable(const cuda::Driver &driver) : driver(driver) {}
  ~MoveTable();
  MoveTable(const MoveTable &) = delete;
  MoveTable &operator=(const MoveTable &) = delete;

  /// Makes room for tables of so many moves and sums.
  Status reserve(size_t moves, size_t sums);

  /// Copies the table to the device, with sums of zero. Nothing of the last
  /// table is in use any more.
  Status upload(std::span<const Move> moves, size_t sums, cuda::Stream stream);

  /// Tiles of all moves together.
  uint64_t tiles() const { return tileCount; }
  /// What the kernel takes.
  void **arguments() { return pointers; }

  /// Waits for the stream, and adds what the kernel summed up.
  Status addSums(std::span<uint64_t> sums, cuda::Stream stream);

private:
  struct Memory {
    std::byte *host = nullptr; // pinned
    cuda::Address device = 0;
  };

  Status grow(uint64_t bytes);

  const cuda::Driver &driver;
  std::vector<Memory> memories; // the last one is in use
  std::byte *host = nullptr;
  cuda::Address device = 0;
  uint64_t capacity = 0;
  uint64_t sumsOffset = 0;
  uint64_t tileCount = 0;

  // The kernel's parameters.
  cuda::Address moveTable = 0, firstTiles = 0, sumTable = 0;
  uint32_t count = 0;
  void *pointers[4] = {&moveTable, &firstTiles, &count, &sumTable};
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_DEVICE_MOVETABLE_H
