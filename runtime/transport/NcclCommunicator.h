// A non-blocking NCCL communicator with its stream, and waits that end.

#ifndef ETC_RUNTIME_TRANSPORT_NCCLCOMMUNICATOR_H
#define ETC_RUNTIME_TRANSPORT_NCCLCOMMUNICATOR_H

#include "transport/NcclTransport.h"

#include <atomic>
#include <functional>

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

  Status connect(const NcclOptions &options, nccl::UniqueId id);

  /// Calls body() between group start and end. `body` returns a code of NCCL.
  template <typename Body> Status group(Body body, const Deadline &until) {
    deadline = until;
    if (Status s = checkUse(); !s.ok())
      return s;
    isBusy = true;
    Status status = call(nccl.ncclGroupStart(), "group start");
    if (!status.ok())
      return status;
    nccl::Code code = body();
    nccl::Code ended = nccl.ncclGroupEnd();
    return settle(code == nccl::kSuccess ? ended : code, "group");
  }

  nccl::Code send(Bytes bytes, uint32_t peer) {
    return nccl.ncclSend(bytes.data(), bytes.size(), nccl::kBytes,
                         static_cast<int>(peer), comm, stream_);
  }
  nccl::Code receive(WritableBytes bytes, uint32_t peer) {
    return nccl.ncclRecv(bytes.data(), bytes.size(), nccl::kBytes,
                         static_cast<int>(peer), comm, stream_);
  }

  /// Waits for all that is on the stream.
  Status drain(const Deadline &until);

  /// Aborts what is still under way, and waits for its kernels to end. False
  /// where they did not in time.
  bool stop();

  /// Ends the communicator in order. Nothing is under way.
  void finish(const Deadline &until);

  /// Ends every wait; any thread may call it.
  void requestAbort() { isAborted = true; }

  cuda::Stream stream() const { return stream_; }

private:
  /// Waits until NCCL has taken in a call.
  Status settle(nccl::Code code, const char *what);
  Status call(nccl::Code code, const char *what);
  Status checkUse();
  /// An error where there is a reason to wait no longer.
  Status checkWait(const char *what);
  /// From here on the communicator is of no use, and has to be aborted.
  Status fail(const std::string &message);
  bool abortNow();
  /// Runs a call that waits for other ranks. False where it did not come back
  /// in time: then its thread goes on by itself, and what it uses stays.
  bool bounded(std::function<void()> body, const Deadline &until) const;

  const cuda::DeviceContext context;
  const cuda::Driver &driver;
  const nccl::Library &nccl;
  const Milliseconds lastWait;
  Control *control = nullptr;
  nccl::Communicator comm = nullptr;
  cuda::Stream stream_ = nullptr;
  bool isBusy = false; // between a group and the wait for it
  bool hasFailed = false;
  bool isStuck = false; // an abort did not end what was under way
  std::atomic<bool> isAborted{false};
  Deadline deadline{Milliseconds(0)};
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_TRANSPORT_NCCLCOMMUNICATOR_H
