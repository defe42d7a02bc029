#include "engine/DeviceRun.h"

#include "engine/StateCheck.h"

#include <algorithm>
#include <cstring>

using namespace etc::runtime;

static uint64_t sideBytes(const PlanIndex &index, uint32_t program, Side side) {
  uint64_t bytes = 0;
  for (etc::plan::Holding holding : index.holdings(program, side))
    bytes = etc::plan::addBytes(bytes, index.shardBytes(holding.shard));
  return bytes;
}

DeviceRun::DeviceRun(const PlanIndex &index, uint32_t rank,
                     Transport &transport, RunOptions options)
    : index(index), self{rank, index.rankCount()},
      program(index.place(rank).program), transport(transport),
      options(options), state(index, program, allocator),
      executor(index, rank, transport) {
  result.device = index.device(rank);
  result.provedBytes = index.program(program).peak();
  result.stateBytes = std::max(sideBytes(index, program, Side::Prev),
                               sideBytes(index, program, Side::Curr));
}

DeviceRun::~DeviceRun() {
  for (Buffer slab : {sendSlab, recvSlab})
    if (slab.data)
      allocator.release(slab);
}

Status DeviceRun::migrate() {
  Status status = prepare();
  if (status.ok())
    status = barrier(transport, self, options.timeout);
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
  for (auto [slab, bytes] :
       {std::pair(&sendSlab, index.program(program).send_slab()),
        std::pair(&recvSlab, index.program(program).recv_slab())}) {
    if (bytes == 0)
      continue;
    Result<Buffer> buffer = allocator.allocate(bytes);
    if (!buffer)
      return buffer.status();
    *slab = *buffer;
    std::memset(slab->data, 0, slab->bytes); // its pages are there in time
  }
  if (Status s = state.allocatePrev(); !s.ok())
    return s;
  return state.forEachRegion(Side::Prev, [&](uint32_t tensor, Region region) {
    fillRegion(index, tensor, Side::Prev, region);
    return Status::success();
  });
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
  result.peakBytes = allocator.highWater();
  return Status::success();
}

Status DeviceRun::verify() {
  if (!options.verify)
    return Status::success();
  Status status = state.forEachRegion(Side::Curr, [&](uint32_t tensor,
                                                      Region region) {
    return checkRegion(index, tensor, Side::Curr, {region.data, region.box});
  });
  result.verified = status.ok();
  return status.at(text("device ", result.device));
}
