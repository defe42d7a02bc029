#include "engine/DeviceRun.h"

#include "engine/Ceiling.h"
#include "engine/DeviceFill.h"
#include "engine/Peers.h"

#include <algorithm>

using namespace etc::runtime;

static uint64_t sideBytes(const PlanIndex &index, uint32_t program, Side side) {
  uint64_t bytes = 0;
  for (etc::plan::Holding holding : index.holdings(program, side))
    bytes = etc::plan::addBytes(bytes, index.shardBytes(holding.shard));
  return bytes;
}

DeviceRun::DeviceRun(const PlanIndex &index, uint32_t rank,
                     Transport &transport, Worker &worker, RunOptions options)
    : index(index), self{rank, index.rankCount()},
      program(index.place(rank).program), transport(transport),
      options(options), worker(worker),
      state(index, program, worker.allocator()),
      executor(index, rank, transport, worker) {
  executor.traceTo(options.trace);
  result.device = index.device(rank);
  result.provedBytes = index.program(program).peak();
  result.stateBytes = std::max(sideBytes(index, program, Side::Prev),
                               sideBytes(index, program, Side::Curr));
}

DeviceRun::~DeviceRun() {
  transport.forgetSlabs();
  for (Buffer slab : {sendSlab, recvSlab})
    if (slab.data)
      worker.allocator().release(slab);
}

Status DeviceRun::migrate() {
  Status status = barrier(transport, self, options.timeout);
  if (status.ok())
    status = runRounds();
  // Nobody leaves, and nothing of the previous state goes, before all have what
  // they need.
  if (status.ok())
    status = barrier(transport, self, options.timeout);
  state.commit();
  return status.at(text("device ", result.device));
}

Status DeviceRun::prepare() {
  return makeReady().at(text("device ", result.device));
}

Status DeviceRun::allocateSlabs() {
  const auto &stated = index.program(program);
  for (auto [slab, bytes] : {std::pair(&sendSlab, stated.send_slab()),
                             std::pair(&recvSlab, stated.recv_slab())}) {
    if (bytes == 0)
      continue;
    Result<Buffer> buffer = worker.allocator().allocate(bytes);
    if (!buffer)
      return buffer.status();
    *slab = *buffer;
    result.slabBytes += bytes;
  }
  return Status::success();
}

Status DeviceRun::connectPeers() {
  PeerRanks peers = findPeers(index, self.rank);
  return transport.prepare({peers.targets,
                            peers.sources,
                            {sendSlab.data, sendSlab.bytes},
                            {recvSlab.data, recvSlab.bytes}},
                           options.timeout);
}

Status DeviceRun::makeReady() {
  if (options.ceiling) {
    Result<double> seconds =
        measureCeiling(index, self, transport, worker, options.timeout);
    if (!seconds)
      return seconds.status();
    result.ceilingSeconds = *seconds;
    worker.allocator().forgetHighWater();
  }
  if (Status s = state.allocatePrev(); !s.ok())
    return s;
  if (Status s = fillState(index, Side::Prev, state, worker); !s.ok())
    return s;
  auto start = std::chrono::steady_clock::now();
  if (!transport.sharesMemory())
    if (Status s = allocateSlabs(); !s.ok())
      return s;
  const auto &stated = index.program(program);
  uint64_t unused = stated.send_slab() + stated.recv_slab() - result.slabBytes;
  if (Status s = worker.reserve(stated.peak() - unused); !s.ok())
    return s;
  if (Status s = connectPeers(); !s.ok())
    return s;
  std::chrono::duration<double> spent =
      std::chrono::steady_clock::now() - start;
  result.prepareSeconds = spent.count();
  return Status::success();
}

Status DeviceRun::runRounds() {
  Slabs slabs{{sendSlab.data, sendSlab.bytes}, {recvSlab.data, recvSlab.bytes}};
  auto start = std::chrono::steady_clock::now();
  const uint32_t rounds = index.program(program).rounds()->size();
  for (uint32_t round = 0; round != rounds; ++round) {
    uint64_t before = executor.receivedBytes();
    if (Status s = executor.run(round, state, slabs, options.timeout); !s.ok())
      return s.at(text("round ", round));
    if (options.progress) {
      options.progress->receivedBytes += executor.receivedBytes() - before;
      options.progress->finishedRounds += 1;
    }
  }
  std::chrono::duration<double> spent =
      std::chrono::steady_clock::now() - start;
  result.seconds = spent.count();
  result.sentBytes = executor.sentBytes();
  result.receivedBytes = executor.receivedBytes();
  result.internodeBytes = executor.internodeBytes();
  result.times = executor.times();
  result.peakBytes = worker.allocator().highWater();
  result.heldBytes = worker.heldBytes();
  result.transportBytes = transport.deviceBytes();
  return Status::success();
}

Status DeviceRun::verify() {
  if (!options.verify)
    return Status::success();
  auto start = std::chrono::steady_clock::now();
  Status status = checkState(index, Side::Curr, state, worker);
  std::chrono::duration<double> spent =
      std::chrono::steady_clock::now() - start;
  result.verifySeconds = spent.count();
  result.verified = status.ok();
  return status.at(text("device ", result.device));
}
