// A non-blocking NCCL communicator with its stream, and waits that end.

#ifndef ETC_RUNTIME_CORE_TRANSPORT_NCCLCOMMUNICATOR_H
#define ETC_RUNTIME_CORE_TRANSPORT_NCCLCOMMUNICATOR_H

#include "core/device/DevicePoint.h"
#include "core/transport/NcclTransport.h"

#include <array>
#include <atomic>
#include <functional>
#include <future>

namespace etc::runtime {

/// Every call that NCCL may leave in progress is polled against a deadline, and
/// after any trouble the communicator is aborted: nothing else frees its
/// kernels. Errors are of kind Peer.
///
/// An abort may wait until the other ranks of the node abort too (the proxy's
/// service thread stays as long as it has connections: ncclProxyService in
/// src/proxy.cc, joined in commFree). So an error only ends the use of the
/// communicator; stop() aborts it, when the others have been told.
///
/// No memory is registered. A transfer over NVLink needs registration at both
/// ends (the sender else waits for an address that nobody tells), and tensors
/// that go whole are a trainer's; across nodes NCCL's relays over other GPUs of
/// the node switch it off anyway.
class NcclCommunicator {
public:
  NcclCommunicator(const cuda::DeviceContext &context,
                   const nccl::Library &nccl, Milliseconds lastWait)
      : context(context), driver(context.driver()), nccl(nccl),
        lastWait(lastWait) {}
  ~NcclCommunicator();
  NcclCommunicator(const NcclCommunicator &) = delete;
  NcclCommunicator &operator=(const NcclCommunicator &) = delete;

  /// Groups that may be under way at once.
  static constexpr size_t kMostGroups = 2;

  Status connect(const NcclOptions &options, nccl::UniqueId id, int channels);

  /// The next group waits for the device to come there.
  Status beginAfter(DevicePoint point);

  /// Calls body() between group start and end. `body` returns a code of NCCL.
  template <typename Body> Status group(Body body, const Deadline &until) {
    deadline = until;
    if (Status s = checkUse(); !s.ok())
      return s;
    if (Status s = call(nccl.ncclGroupStart(), "group start"); !s.ok())
      return s;
    nccl::Code code = body();
    nccl::Code ended = nccl.ncclGroupEnd();
    Status status = settle(code == nccl::kSuccess ? ended : code, "group");
    return status.ok() ? noteGroup() : status;
  }
  /// One without transfers, which ends after those before it.
  Status emptyGroup();
  /// Where the device is when the last group has ended.
  DevicePoint end() const {
    return {groups == 0 ? nullptr : ends[(groups - 1) % kMostGroups]};
  }

  nccl::Code send(Bytes bytes, uint32_t peer) {
    return nccl.ncclSend(bytes.data(), bytes.size(), nccl::kBytes,
                         static_cast<int>(peer), comm, stream_);
  }
  nccl::Code receive(WritableBytes bytes, uint32_t peer) {
    return nccl.ncclRecv(bytes.data(), bytes.size(), nccl::kBytes,
                         static_cast<int>(peer), comm, stream_);
  }

  /// Waits for the first group that was not waited for yet.
  Status drain(const Deadline &until);

  /// Aborts the communicator, and waits until what is under way has ended.
  /// False where it did not in time.
  bool stop();
  /// Whether it has ended since.
  bool hasStopped() const;

  /// Ends the communicator in order. Nothing is under way.
  void finish(const Deadline &until);

  /// Ends every wait; any thread may call it.
  void requestAbort() { isAborted = true; }

private:
  /// Waits until NCCL has taken in a call.
  Status settle(nccl::Code code, const char *what);
  Status leaveThread(const char *what);
  Status call(nccl::Code code, const char *what);
  Status checkUse();
  Status noteGroup();
  bool isBusy() const { return drained != groups; }
  /// An error where there is a reason to wait no longer.
  Status checkWait(const char *what);
  /// From here on the communicator is of no use, and has to be aborted.
  Status fail(const std::string &message);
  /// Runs a call that waits for other ranks on a thread of its own, which goes
  /// on where nobody waits for it any more; what it uses stays then.
  std::shared_future<void> apart(std::function<void()> body) const;
  void beginAbort();
  bool isAbortOver(const Deadline &until) const;

  const cuda::DeviceContext context;
  const cuda::Driver &driver;
  const nccl::Library &nccl;
  const Milliseconds lastWait;
  Control *control = nullptr;
  nccl::Communicator comm = nullptr;
  cuda::Stream stream_ = nullptr;
  std::array<cuda::Event, kMostGroups> ends{}; // of groups, in turn
  size_t groups = 0, drained = 0;
  bool hasFailed = false;
  std::shared_future<void> abortion; // valid once it has begun
  bool wasIdle = false;              // when it began
  std::atomic<bool> isAborted{false};
  Deadline deadline{Milliseconds(0)};
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_TRANSPORT_NCCLCOMMUNICATOR_H
