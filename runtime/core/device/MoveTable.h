// Moves on their way to the kernel: one table, uploaded at once.

#ifndef ETC_RUNTIME_CORE_DEVICE_MOVETABLE_H
#define ETC_RUNTIME_CORE_DEVICE_MOVETABLE_H

#include "core/device/DevicePoint.h"
#include "core/memory/Allocator.h"
#include "core/pack/MoveUnits.h"

#include <span>
#include <vector>

namespace etc::runtime {

/// The kernel, and what its launches have in common.
struct MoveKernel {
  cuda::Function function = nullptr;
  uint64_t mostBlocks = 1;
};

/// Serves one launch at a time. Memory on both sides is kept from launch to
/// launch, and none is freed before the end: that may wait for all that the
/// device does.
class MoveTable {
public:
  explicit MoveTable(const cuda::Driver &driver) : driver(driver) {}
  ~MoveTable();
  MoveTable(const MoveTable &) = delete;
  MoveTable &operator=(const MoveTable &) = delete;

  /// Makes room for so many moves and sums, and the event.
  Status reserve(size_t moves, size_t sums);
  bool hasRoom(size_t moves, size_t sums) const;
  /// One that reads some of the table itself.
  Move idleMove() const;

  /// From launch() to collect().
  bool isInUse() const { return isInUse_; }
  /// Copies the table to the device, executes it, and copies the sums back, in
  /// the stream's order.
  Status launch(const MoveKernel &kernel, std::span<const Move> moves,
                size_t sums, cuda::Stream stream);
  /// Where the device is then.
  DevicePoint end() const { return {event}; }
  bool isDone() const;
  /// Waits for that, and adds what the kernel summed up.
  Status collect(std::span<uint64_t> sums);

private:
  struct Memory {
    std::byte *host = nullptr; // pinned
    cuda::Address device = 0;
  };

  Status grow(uint64_t bytes);
  Status upload(std::span<const Move> moves, size_t sums, cuda::Stream stream);

  const cuda::Driver &driver;
  std::vector<Memory> memories; // the last one is in use
  std::byte *host = nullptr;
  cuda::Address device = 0;
  cuda::Event event = nullptr;
  uint64_t capacity = 0;
  uint64_t sumsOffset = 0;
  uint64_t tileCount = 0;
  bool isInUse_ = false;

  // The kernel's parameters.
  cuda::Address moveTable = 0, firstTiles = 0, sumTable = 0;
  uint32_t count = 0;
  void *pointers[4] = {&moveTable, &firstTiles, &count, &sumTable};
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_DEVICE_MOVETABLE_H
