// Tensors in memory that a trainer owns.

#ifndef ETC_RUNTIME_CAPI_CALLERMEMORY_H
#define ETC_RUNTIME_CAPI_CALLERMEMORY_H

#include "capi/Handles.h"

#include "core/device/Worker.h"

#include <atomic>
#include <map>
#include <unordered_map>

namespace etc::runtime {

/// Previous shards are the caller's tensors. Current shards and staging come
/// from the caller's callbacks, or from `fallback` where there are none; what
/// is not needed any more goes back the same way.
class CallerMemory final : public Allocator {
public:
  CallerMemory(const PlanIndex &index, uint32_t program,
               const etc_memory &callbacks, Allocator &fallback);
  ~CallerMemory() override;

  /// The position of a previous tensor, in the program's holdings.
  std::optional<size_t> find(const char *type, const char *name) const;
  etc_tensor_info describePrev(size_t position) const;
  /// Makes memory a previous shard, in place of what was.
  void registerPrev(size_t position, void *data);
  /// What prepare needs: every previous shard is there, and no two share
  /// memory. Nothing is registered after it.
  Status complete();

  /// Called when the migration is over: current shards are the caller's now.
  void handOver() { isHandedOver = true; }
  void keepForLater() override;
  /// Nothing goes back any more, nor what was kept until transfers end: the
  /// device may still write to it, and a release may wait for the device.
  void abandon() { isAbandoned = true; }

  bool reuses() const override {
    return callbacks.allocate && callbacks.release;
  }
  /// PyTorch's, for one, where it has to free what it caches.
  bool mayWait() const override { return callbacks.allocate; }
  /// A caller's release may wait for the device too: it is not called while
  /// transfers are under way.
  void noteTransfers(bool areUnderWay) override;

  /// What the fallback will be asked for: all but previous tensors, unless the
  /// caller allocates.
  Rehearsal ofFallback(const Rehearsal &future) const;

  /// The memory of a shard of either side, by memoryName(); null where there is
  /// none.
  const std::byte *findNamed(const std::string &name) const;

  /// Whether the caller was told that a previous shard is not needed any more.
  bool hasReleased() const { return hasReleased_; }

  /// A current shard's memory, and whether it was a previous one's.
  std::pair<void *, bool> current(size_t position) const;

private:
  struct Shard {
    Side side;
    Holding holding;
    std::byte *data = nullptr;
  };

  struct Extent {
    uint64_t bytes;
    Shard *shard; // null for staging
  };

  Result<Buffer> take(uint64_t bytes) override;
  Result<Buffer> takeNamed(uint64_t bytes, const std::string &name) override;
  void giveBack(Buffer buffer) override;

  Status checkComplete() const;
  /// Notes memory that is in use, unless some of it is already.
  Status occupy(Buffer buffer, Shard *shard);
  const Extent *findOverlap(Buffer buffer) const;
  Result<Buffer> allocateFor(const etc_tensor_info *info, uint64_t bytes);
  void releaseFor(Shard *shard, Buffer buffer);
  void tell(Shard *shard, Buffer buffer);
  std::string describe(const Shard &shard) const {
    return index.describeTensor(shard.holding.tensor);
  }

  const PlanIndex &index;
  const etc_memory callbacks;
  Allocator &fallback;
  std::vector<Shard> prev, curr; // parallel to the program's holdings
  std::unordered_map<std::string, Shard *> named;
  std::map<const std::byte *, Extent> live; // disjoint
  /// Of no use here any more, which the caller has not been told yet.
  std::vector<std::pair<Shard *, Buffer>> kept;
  bool areTransfersUnderWay = false;
  bool isOver = false, isHandedOver = false, isAbandoned = false;
  std::atomic<bool> hasReleased_{false};
};

/// A device whose tensors are a caller's; everything else is another worker's.
class CallerWorker final : public Worker {
public:
  CallerWorker(Worker &inner, CallerMemory &memory)
      : inner(inner), memory(memory) {}

  Allocator &allocator() override { return memory; }
  /// The caller's allocator makes memory when it is asked for it.
  Status reserve(uint64_t) override { return Status::success(); }
  Status rehearse(const Rehearsal &future) override {
    return inner.rehearse(memory.ofFallback(future));
  }
  uint64_t heldBytes() const override { return memory.highWater(); }
  Status reserveMoves(size_t moves, size_t sums) override {
    return inner.reserveMoves(moves, sums);
  }
  Status run(std::span<const Move> moves, std::span<uint64_t> sums) override {
    return inner.run(moves, sums);
  }
  Result<Job> begin(Lane lane, std::span<const Move> moves, size_t sums,
                    DevicePoint after) override {
    return inner.begin(lane, moves, sums, after);
  }
  bool isDone(const Job &job) override { return inner.isDone(job); }
  Status end(const Job &job, std::span<uint64_t> sums) override {
    return inner.end(job, sums);
  }
  bool stop() override { return inner.stop(); }
  bool hasStopped() const override { return inner.hasStopped(); }
  void abandon() override {
    memory.abandon();
    inner.abandon();
  }
  Status download(std::span<std::byte> to, const std::byte *from) override {
    return inner.download(to, from);
  }
  Status upload(std::byte *to, std::span<const std::byte> from) override {
    return inner.upload(to, from);
  }
  bool isHost() const override { return inner.isHost(); }

private:
  Worker &inner;
  CallerMemory &memory;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_CAPI_CALLERMEMORY_H
