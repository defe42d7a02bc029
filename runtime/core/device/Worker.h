// One device: its memory, and what happens to it.

#ifndef ETC_RUNTIME_CORE_DEVICE_WORKER_H
#define ETC_RUNTIME_CORE_DEVICE_WORKER_H

#include "core/device/DevicePoint.h"
#include "core/memory/Allocator.h"
#include "core/pack/Move.h"

#include <span>
#include <vector>

namespace etc::runtime {

/// Moves of one lane are executed in order, those of two side by side.
enum class Lane { Out, In };

/// Moves that were begun.
struct Job {
  DevicePoint end;            // null: they are done
  std::vector<uint64_t> sums; // where they are done
  size_t table = 0;           // of the worker, elsewhere
};

/// The engine does everything to tensors through a worker, so that the same
/// rounds run on host memory and on a GPU. For use by one thread.
class Worker {
public:
  virtual ~Worker() = default;

  virtual Allocator &allocator() = 0;

  /// Makes memory for `bytes` of buffers ahead of their allocation.
  virtual Status reserve(uint64_t bytes) = 0;
  /// Makes ahead what `future` will need beyond that, which is run on a copy of
  /// the allocator without memory, several times where need be.
  virtual Status rehearse(const Rehearsal &future);
  /// Makes room for what run() and begin() need beside buffers, for so many
  /// moves and sums at once, and does what else takes longer the first time.
  /// Without it they make room by themselves, which may wait for all that the
  /// device does, a transfer from a peer that is gone included.
  virtual Status reserveMoves(size_t moves, size_t sums) = 0;
  /// What the device holds of memory for buffers, idle or not; never less than
  /// what lives.
  virtual uint64_t heldBytes() const = 0;

  /// Executes moves, in any order, and adds to `sums`. They are done on return.
  virtual Status run(std::span<const Move> moves, std::span<uint64_t> sums) = 0;

  /// Begins moves that may be executed in any order, when the device has come
  /// to `after`, and does not wait for them. At most two jobs of Out for each
  /// of two rounds, and one of In, are under way.
  virtual Result<Job> begin(Lane lane, std::span<const Move> moves, size_t sums,
                            DevicePoint after);
  virtual bool isDone(const Job &) { return true; }
  /// Waits for the moves, and adds to `sums`. Once for each job.
  virtual Status end(const Job &job, std::span<uint64_t> sums);
  /// After an error: waits for all that was begun, whose memory can go then.
  /// False where it did not end in time.
  virtual bool stop() { return true; }
  /// Whether it has ended since. Any thread may ask.
  virtual bool hasStopped() const { return true; }
  /// Where what was begun, or a transfer, did not end: the device may still
  /// write to any of its memory, which from here on is nobody's for the rest of
  /// the process.
  virtual void abandon() {}

  /// Copies a buffer's bytes to host memory, and back. They are there on
  /// return.
  virtual Status download(std::span<std::byte> to, const std::byte *from) = 0;
  virtual Status upload(std::byte *to, std::span<const std::byte> from) = 0;

  /// Whether buffers are host memory, which everyone may read.
  virtual bool isHost() const = 0;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_DEVICE_WORKER_H
