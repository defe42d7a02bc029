#include "transport/NcclCommunicator.h"

#include <future>
#include <thread>

using namespace etc::runtime;

/// Between two looks at a transfer, once it has taken longer than a short one.
constexpr auto kPoll = std::chrono::microseconds(20);

NcclCommunicator::~NcclCommunicator() {
  if (comm && !isBusy && !hasFailed)
    finish(lastWait);
  (void)stop();
  if (stream_)
    driver.cuStreamDestroy_v2(stream_);
}

Status NcclCommunicator::fail(const std::string &message) {
  hasFailed = true;
  return Status(ErrorKind::Peer, "NCCL: " + message);
}

bool NcclCommunicator::bounded(std::function<void()> body,
                               const Deadline &until) const {
  auto done = std::make_shared<std::promise<void>>();
  std::future<void> isDone = done->get_future();
  std::thread([done, body = std::move(body), context = context] {
    (void)context.enter();
    body();
    done->set_value();
  }).detach();
  return isDone.wait_until(until.time()) == std::future_status::ready;
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
  while (true) {
    if (Status s = checkWait(what); !s.ok())
      return s;
    if (nccl.ncclCommGetAsyncError(comm, &state) == nccl::kSuccess &&
        state == nccl::kSuccess)
      return Status::success();
    std::this_thread::sleep_for(kPoll);
  }
}

Status NcclCommunicator::drain(const Deadline &until) {
  deadline = until;
  while (true) {
    cuda::Code code = driver.cuStreamQuery(stream_);
    if (code == cuda::kSuccess) {
      isBusy = false;
      return checkUse();
    }
    if (code != cuda::kNotReady)
      return fail(driver.check(code, "a transfer failed").message());
    if (Status s = checkWait("a transfer"); !s.ok())
      return s;
    std::this_thread::sleep_for(kPoll);
  }
}

Status NcclCommunicator::connect(const NcclOptions &options,
                                 nccl::UniqueId id) {
  control = options.control;
  constexpr unsigned nonBlocking = 1;
  if (Status s = driver.check(driver.cuStreamCreate(&stream_, nonBlocking),
                              "cannot make a stream");
      !s.ok())
    return s;
  nccl::Config config = nccl::configOf(nccl.version);
  if (options.channels > 0) {
    config.maxCTAs = options.channels;
    // All pairs have as many channels as the pair that has least: one across
    // nodes. Where nobody says how many these have, NCCL takes fewer the more
    // ranks there are (ncclTopoComputeP2pChannels and ncclTopoGetNchannels in
    // src/graph/paths.cc): one from 17 ranks on in 2.28, from 33 on in 2.30,
    // inside a node too.
    if (nccl.version >= 22800)
      config.nChannelsPerNetPeer = options.channels;
  }
  deadline = options.deadline;
  return settle(nccl.ncclCommInitRankConfig(
                    &comm, static_cast<int>(options.devices.size()), id,
                    static_cast<int>(options.rank), &config),
                "the communicator");
}

bool NcclCommunicator::stop() {
  if (!comm || (!isBusy && !hasFailed))
    return !isStuck;
  hasFailed = true;
  const bool isBack = abortNow();
  // An abort need not drain: then whoever frees the memory waits for it.
  const Deadline end(lastWait);
  while (driver.cuStreamQuery(stream_) == cuda::kNotReady && !end.isOver())
    std::this_thread::sleep_for(kPoll);
  isStuck = !isBack || driver.cuStreamQuery(stream_) == cuda::kNotReady;
  return !isStuck;
}

bool NcclCommunicator::abortNow() {
  const nccl::Communicator old = std::exchange(comm, nullptr);
  return bounded([&nccl = nccl, old] { nccl.ncclCommAbort(old); }, lastWait);
}

void NcclCommunicator::finish(const Deadline &until) {
  if (!comm || isBusy || hasFailed)
    return;
  // Others may have left, which ends nothing here.
  nccl::Code state = nccl.ncclCommFinalize(comm);
  while (state == nccl::kInProgress && !until.isOver()) {
    std::this_thread::sleep_for(kPoll);
    if (nccl.ncclCommGetAsyncError(comm, &state) != nccl::kSuccess)
      break;
  }
  if (state != nccl::kSuccess) {
    hasFailed = true;
    return;
  }
  const nccl::Communicator old = std::exchange(comm, nullptr);
  (void)bounded([&nccl = nccl, old] { nccl.ncclCommDestroy(old); }, until);
}
