// Moves on their way to the kernel: one table, uploaded at once.

#ifndef ETC_RUNTIME_DEVICE_MOVETABLE_H
#define ETC_RUNTIME_DEVICE_MOVETABLE_H

#include "device/CudaDriver.h"
#include "memory/Allocator.h"
#include "pack/MoveUnits.h"

#include <span>

namespace etc::runtime {

/// Memory on both sides is kept from table to table.
class MoveTable {
public:
  explicit MoveTable(const cuda::Driver &driver) : driver(driver) {}
  ~MoveTable();
  MoveTable(const MoveTable &) = delete;
  MoveTable &operator=(const MoveTable &) = delete;

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
  Status grow(uint64_t bytes);

  const cuda::Driver &driver;
  std::byte *host = nullptr; // pinned
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
