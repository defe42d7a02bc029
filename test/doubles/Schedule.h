// Streams of this process, and the thread that does what is on them: nothing is
// done at a call. What may happen in several orders happens in a random one of
// them (CUDA C++ Programming Guide 13.0, "Asynchronous Concurrent Execution":
// work on one stream is in order, all else only by events).

#ifndef ETC_TEST_SCHEDULE_H
#define ETC_TEST_SCHEDULE_H

#include "DeviceMemory.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace etc::test {

using Random = std::mt19937_64;

enum class Step {
  Done,
  Moved,   // something was done, there is more
  Waiting, // for others
};

/// Something that the device does. Steps are taken without the schedule's lock.
class Work {
public:
  virtual ~Work() = default;
  virtual Step step(Random &random) = 0;
  /// Whether it reads or writes some of these bytes. With the lock held.
  virtual bool touches(const Range &) const { return false; }
  /// Whether it is a transfer, which may never end.
  virtual bool isTransfer() const { return false; }

  std::vector<std::shared_ptr<Work>> after; // of other streams
  bool hasBegun = false, isDone = false;
};

struct StreamState {
  int device = 0;
  bool isLegacy = false;   // the null stream of a device
  bool isBlocking = false; // waits for the null stream, and it for this one
  bool isDestroyed = false;
  std::deque<std::shared_ptr<Work>> work;
  std::shared_ptr<Work> last;
  uint64_t priority = 0; // in a schedule that has favourites
};
using StreamHandle = StreamState *;

/// Null for the null stream.
class Schedule {
public:
  static Schedule &get();

  /// See etcDoubleOneQueue(). While nothing is on any stream.
  void shareQueue(bool isShared);
  /// See etcDoubleSeed().
  void seed(uint64_t seed);
  bool isPlain() const { return isPlain_; }
  uint64_t number() {
    std::lock_guard lock(mutex);
    return random();
  }

  StreamHandle create(int device, bool isBlocking);
  /// What is on it goes on. False if there is no such stream.
  bool destroy(StreamHandle stream);
  /// The stream that a handle means to a thread in the context of `device`;
  /// null if there is none.
  StreamHandle find(StreamHandle handle, int device);

  void enqueue(StreamHandle stream, std::shared_ptr<Work> work);
  /// Something beside all streams.
  void addTask(std::shared_ptr<Work> task);
  /// What a stream has to do by now; null if nothing.
  std::shared_ptr<Work> lastOf(StreamHandle stream);

  bool isIdle(StreamHandle stream);
  bool isDone(const std::shared_ptr<Work> &work);
  void wait(StreamHandle stream);
  void wait(const std::shared_ptr<Work> &work);
  /// Waits for all of a device.
  void waitForDevice(int device);

  /// Whether transfers of a device are not yet done.
  bool hasTransfers(int device);
  bool isInUse(const Range &range);

  /// Context errors that no later call overcomes (CUDA Driver API 13.0,
  /// CUDA_ERROR_ILLEGAL_ADDRESS: "any further CUDA work will return the same
  /// error").
  void breakDevice(int device, Result error);
  Result stateOf(int device);

  /// Called when a host thread looks at a stream with work, or waits for it:
  /// set by NCCL's half.
  std::atomic<void (*)(StreamHandle stream)> onLook{nullptr};

private:
  Schedule();
  void run();
  std::shared_ptr<Work> choose(StreamHandle &stream);
  bool isReady(const StreamState &stream) const;
  /// Lets the host run ahead, in some schedules.
  void delay(std::unique_lock<std::mutex> &lock);
  void finish(StreamHandle stream, const std::shared_ptr<Work> &work);
  template <typename Condition> void waitUntil(StreamHandle, Condition);
  StreamHandle legacyOf(int device);

  std::mutex mutex;
  std::condition_variable done;
  Random random;
  bool isPlain_ = true;
  unsigned laziness = 0, changesOfFavour = 0; // of 16
  unsigned looks = 0;                         // of host threads
  std::set<StreamHandle> streams;
  /// With CUDA_DEVICE_MAX_CONNECTIONS=1 all streams of a device share one queue
  /// of the hardware: what was not begun yet, in the order of the calls. Work
  /// begins when it is first there and its stream has come to it, so that it
  /// may be behind another stream's (CUDA C++ Programming Guide 13.0, "CUDA
  /// Environment Variables").
  bool hasOneQueue = false;
  std::deque<std::shared_ptr<Work>> queues[kMaxDevices];
  std::vector<std::shared_ptr<Work>> tasks;
  std::vector<std::shared_ptr<Work>> waiting; // since the last change
  StreamHandle legacy[kMaxDevices] = {};
  Result broken[kMaxDevices] = {};
};

} // namespace etc::test

#endif // ETC_TEST_SCHEDULE_H
