// One device: its memory, and what happens to it.

#ifndef ETC_RUNTIME_DEVICE_WORKER_H
#define ETC_RUNTIME_DEVICE_WORKER_H

#include "memory/Allocator.h"
#include "pack/Move.h"

#include <span>

namespace etc::runtime {

/// The engine does everything to tensors through a worker, so that the same
/// rounds run on host memory and on a GPU. For use by one thread.
class Worker {
public:
  virtual ~Worker() = default;

  virtual Allocator &allocator() = 0;

  /// Makes memory for `bytes` of buffers ahead of their allocation.
  virtual Status reserve(uint64_t bytes) = 0;
  /// Makes room for what run() needs beside buffers, for so many moves and sums
  /// at once. Without it run() makes room by itself, which may wait for all
  /// that the device does, a transfer from a peer that is gone included.
  virtual Status reserveMoves(size_t moves, size_t sums) = 0;
  /// What the device holds of memory for buffers, idle or not; never less than
  /// what lives.
  virtual uint64_t heldBytes() const = 0;

  /// Executes moves, in any order, and adds to `sums`. They are done on return.
  virtual Status run(std::span<const Move> moves, std::span<uint64_t> sums) = 0;

  /// Copies a buffer's bytes to host memory.
  virtual Status download(std::span<std::byte> to, const std::byte *from) = 0;

  /// Whether buffers are host memory, which everyone may read.
  virtual bool isHost() const = 0;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_DEVICE_WORKER_H
