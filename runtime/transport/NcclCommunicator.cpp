#include "transport/NcclCommunicator.h"

#include <thread>

using namespace etc::runtime;

/// Between two looks at a transfer, once it has taken longer than a short one.
constexpr auto kPoll = std::chrono::microseconds(20);
constexpr Milliseconds kLastWait{5000};

NcclCommunicator::~NcclCommunicator() {
  if (comm) {
    deadline = kLastWait;
    if (settle(nccl.ncclCommFinalize(comm), "finalize").ok() && comm)
      nccl.ncclCommDestroy(comm);
  }
  if (stream_)
    driver.cuStreamDestroy_v2(stream_);
}

Status NcclCommunicator::fail(const std::string &message) {
  // On every error of every rank, or the others' kernels spin on.
  if (comm)
    nccl.ncclCommAbort(comm);
  comm = nullptr;
  return Status(ErrorKind::Peer, "NCCL: " + message);
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

Status NcclCommunicator::checkWait(const char *what) {
  if (!comm)
    return fail("the communicator was aborted");
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
      return comm ? Status::success() : fail("the communicator was aborted");
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

void NcclCommunicator::stop() {
  if (!isBusy)
    return;
  (void)fail("stopped");
  // An abort need not drain: then whoever frees the memory waits for it.
  const Deadline end(kLastWait);
  while (driver.cuStreamQuery(stream_) == cuda::kNotReady && !end.isOver())
    std::this_thread::sleep_for(kPoll);
}
