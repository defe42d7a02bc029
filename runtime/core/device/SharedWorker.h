// A device that several threads use.

#ifndef ETC_RUNTIME_CORE_DEVICE_SHAREDWORKER_H
#define ETC_RUNTIME_CORE_DEVICE_SHAREDWORKER_H

#include "core/device/Worker.h"

#include <functional>
#include <mutex>
#include <thread>

namespace etc::runtime {

/// Lets threads in one at a time, and none waits for the device meanwhile. A
/// wait for moves ends with an error when `isOver` says so: on a device whose
/// queues are shared they may be behind a kernel that waits for a peer that is
/// gone. Memory is for one thread, as ever.
class SharedWorker final : public Worker {
public:
  SharedWorker(Worker &inner, std::function<bool()> isOver)
      : inner(inner), isOver(std::move(isOver)) {}

  Allocator &allocator() override { return inner.allocator(); }
  Status reserve(uint64_t bytes) override { return inner.reserve(bytes); }
  Status reserveMoves(size_t moves, size_t sums) override {
    std::lock_guard lock(mutex);
    return inner.reserveMoves(moves, sums);
  }
  uint64_t heldBytes() const override { return inner.heldBytes(); }
  Status run(std::span<const Move> moves, std::span<uint64_t> sums) override {
    Result<Job> job = begin(Lane::Out, moves, sums.size(), {});
    return job ? end(*job, sums) : job.status();
  }
  Result<Job> begin(Lane lane, std::span<const Move> moves, size_t sums,
                    DevicePoint after) override {
    std::lock_guard lock(mutex);
    return inner.begin(lane, moves, sums, after);
  }
  bool isDone(const Job &job) override {
    std::lock_guard lock(mutex);
    return inner.isDone(job);
  }
  Status end(const Job &job, std::span<uint64_t> sums) override {
    while (!isDone(job)) {
      if (isOver())
        return Status(plan::ErrorKind::Peer,
                      "stopped, since another device failed");
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
    std::lock_guard lock(mutex);
    return inner.end(job, sums);
  }
  bool stop() override { return inner.stop(); }
  bool hasStopped() const override { return inner.hasStopped(); }
  void abandon() override { inner.abandon(); }
  Status download(std::span<std::byte> to, const std::byte *from) override {
    std::lock_guard lock(mutex);
    return inner.download(to, from);
  }
  Status upload(std::byte *to, std::span<const std::byte> from) override {
    std::lock_guard lock(mutex);
    return inner.upload(to, from);
  }
  bool isHost() const override { return inner.isHost(); }

private:
  Worker &inner;
  const std::function<bool()> isOver;
  std::mutex mutex;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_DEVICE_SHAREDWORKER_H
