#include "core/transport/NcclCommunicator.h"

#include <thread>

using namespace etc::runtime;

/// Between two looks at a transfer, once it has taken longer than a short one.
constexpr auto kPoll = std::chrono::microseconds(20);

namespace {

/// Waits between looks: a sleep takes longer than most calls.
class Pause {
public:
  void operator()() {
    constexpr int kBrief = 64;
    if (++looks < kBrief)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(kPoll);
  }

private:
  int looks = 0;
};

} // namespace

NcclCommunicator::~NcclCommunicator() {
  if (comm && !isBusy() && !hasFailed)
    finish(lastWait);
  // The device is still at it, or NCCL's thread.
  if (!stop() || !isAbortOver(lastWait))
    return;
  for (cuda::Event event : ends)
    if (event)
      driver.cuEventDestroy_v2(event);
  if (stream_)
    driver.cuStreamDestroy_v2(stream_);
}

Status NcclCommunicator::fail(const std::string &message) {
  hasFailed = true;
  return Status(ErrorKind::Peer, "NCCL: " + message);
}

std::shared_future<void>
NcclCommunicator::apart(std::function<void()> body) const {
  auto done = std::make_shared<std::promise<void>>();
  std::shared_future<void> isDone = done->get_future().share();
  std::thread([done, body = std::move(body), context = context] {
    (void)context.enter();
    body();
    done->set_value();
  }).detach();
  return isDone;
}

Status NcclCommunicator::call(nccl::Code code, const char *what) {
  if (code == nccl::kSuccess || code == nccl::kInProgress)
    return Status::success();
  const char *detail = comm ? nccl.ncclGetLastError(comm) : nullptr;
  std::string message = text(what, ": ", nccl.ncclGetErrorString(code));
  if (detail && *detail)
    message += text(" (", detail, ")");
  return fail(message);
}

Status NcclCommunicator::checkUse() {
  return comm && !hasFailed ? Status::success()
                            : fail("the communicator was aborted");
}

Status NcclCommunicator::checkWait(const char *what) {
  if (Status s = checkUse(); !s.ok())
    return s;
  if (isAborted)
    return fail("stopped, since another device failed");
  if (Status s = control ? control->check() : Status::success(); !s.ok())
    return fail(s.message());
  nccl::Code state = nccl::kSuccess;
  nccl::Code asked = nccl.ncclCommGetAsyncError(comm, &state);
  if (Status s = call(asked, what); !s.ok())
    return s;
  if (Status s = call(state, what); !s.ok())
    return s;
  if (deadline.isOver())
    return fail(text("no end of ", what, " within ", deadline.seconds(), " s"));
  return Status::success();
}

Status NcclCommunicator::settle(nccl::Code code, const char *what) {
  if (Status s = call(code, what); !s.ok())
    return s;
  nccl::Code state = code;
  for (Pause pause;; pause()) {
    if (Status s = checkWait(what); !s.ok())
      return s;
    if (nccl.ncclCommGetAsyncError(comm, &state) == nccl::kSuccess &&
        state == nccl::kSuccess)
      return leaveThread(what);
  }
}

/// Up to 2.26 NCCL keeps what it works on in memory of the calling thread, and
/// refers to it until the next call for the communicator, which joins NCCL's
/// own thread (ncclGroupJobMain in src/group.cc, ncclCommEnsureReady in
/// src/init.cc). By then the caller may have ended, or be in a group of
/// PyTorch's. A call that only asks is such a one too.
Status NcclCommunicator::leaveThread(const char *what) {
  int count = 0;
  return call(nccl.ncclCommCount(comm, &count), what);
}

Status NcclCommunicator::beginAfter(DevicePoint point) {
  return driver.check(driver.cuStreamWaitEvent(stream_, point.event, 0),
                      "cannot wait for an event");
}

Status NcclCommunicator::noteGroup() {
  Status status =
      driver.check(driver.cuEventRecord(ends[groups % kMostGroups], stream_),
                   "cannot record an event");
  if (!status.ok())
    return fail(status.message());
  ++groups;
  return status;
}

Status NcclCommunicator::emptyGroup() {
  Status status = checkUse();
  return status.ok() ? noteGroup() : status;
}

Status NcclCommunicator::drain(const Deadline &until) {
  deadline = until;
  if (!isBusy())
    return checkUse();
  const cuda::Event end = ends[drained % kMostGroups];
  for (Pause pause;; pause()) {
    cuda::Code code = driver.cuEventQuery(end);
    if (code == cuda::kSuccess) {
      ++drained;
      return checkUse();
    }
    if (code != cuda::kNotReady)
      return fail(driver.check(code, "a transfer failed").message());
    if (Status s = checkWait("a transfer"); !s.ok())
      return s;
  }
}

Status NcclCommunicator::connect(const NcclOptions &options, nccl::UniqueId id,
                                 int channels) {
  control = options.control;
  constexpr unsigned nonBlocking = 1;
  if (Status s = driver.check(driver.cuStreamCreate(&stream_, nonBlocking),
                              "cannot make a stream");
      !s.ok())
    return s;
  for (cuda::Event &event : ends)
    if (Status s = driver.check(driver.cuEventCreate(&event, cuda::kNoTiming),
                                "cannot make an event");
        !s.ok())
      return s;
  nccl::Config config = nccl::configOf(nccl.version);
  config.maxCTAs = channels;
  // All pairs have as many channels as the pair that has least: one across
  // nodes. Where nobody says how many these have, NCCL takes fewer the more
  // ranks there are (ncclTopoComputeP2pChannels and ncclTopoGetNchannels in
  // src/graph/paths.cc): one for more than twice as many ranks as channels in
  // 2.28, for more than four times as many in 2.30, inside a node too.
  if (nccl.version >= 22800)
    config.nChannelsPerNetPeer = channels;
  deadline = options.deadline;
  return settle(nccl.ncclCommInitRankConfig(
                    &comm, static_cast<int>(options.devices.size()), id,
                    static_cast<int>(options.rank), &config),
                "the communicator");
}

bool NcclCommunicator::stop() {
  if (comm)
    beginAbort();
  return hasStopped();
}

/// Others of the node may wait for the abort of one that is idle, whose own may
/// have to wait until they end their training: nobody waits for that.
void NcclCommunicator::beginAbort() {
  wasIdle = !isBusy() && !hasFailed;
  hasFailed = true;
  const nccl::Communicator old = std::exchange(comm, nullptr);
  abortion = apart([&nccl = nccl, old] { nccl.ncclCommAbort(old); });
  if (wasIdle)
    return;
  (void)isAbortOver(lastWait);
  // An abort need not drain: then whoever frees the memory waits for it.
  const Deadline end(lastWait);
  while (driver.cuStreamQuery(stream_) == cuda::kNotReady && !end.isOver())
    std::this_thread::sleep_for(kPoll);
}

bool NcclCommunicator::isAbortOver(const Deadline &until) const {
  return !abortion.valid() ||
         abortion.wait_until(until.time()) == std::future_status::ready;
}

bool NcclCommunicator::hasStopped() const {
  return wasIdle ||
         (isAbortOver(Milliseconds(0)) &&
          (!stream_ || driver.cuStreamQuery(stream_) != cuda::kNotReady));
}

void NcclCommunicator::finish(const Deadline &until) {
  if (!comm || isBusy() || hasFailed)
    return;
  // Others may have left, which ends nothing here.
  nccl::Code state = nccl.ncclCommFinalize(comm);
  while (state == nccl::kInProgress && !until.isOver()) {
    std::this_thread::sleep_for(kPoll);
    if (nccl.ncclCommGetAsyncError(comm, &state) != nccl::kSuccess)
      break;
  }
  if (state != nccl::kSuccess || !leaveThread("the end").ok()) {
    hasFailed = true;
    return;
  }
  const nccl::Communicator old = std::exchange(comm, nullptr);
  const auto end = apart([&nccl = nccl, old] { nccl.ncclCommDestroy(old); });
  (void)end.wait_until(until.time());
}
