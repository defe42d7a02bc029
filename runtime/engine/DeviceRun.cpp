#include "engine/DeviceRun.h"

#include "engine/StateCheck.h"
#include "memory/FileAllocator.h"
#include "memory/HostAllocator.h"

#include <algorithm>
#include <cstring>

using namespace etc::runtime;

static uint64_t sideBytes(const PlanIndex &index, uint32_t program, Side side) {
  uint64_t bytes = 0;
  for (etc::plan::Holding holding : index.holdings(program, side))
    bytes = etc::plan::addBytes(bytes, index.shardBytes(holding.shard));
  return bytes;
}

static std::unique_ptr<Allocator> makeAllocator(const Keeping &keeping,
                                                uint32_t device) {
  if (keeping.state.empty())
    return std::make_unique<HostAllocator>();
  return std::make_unique<FileAllocator>(statePath(keeping.state, device));
}

DeviceRun::DeviceRun(const PlanIndex &index, uint32_t rank, Transport &direct,
                     RunOptions given)
    : index(index), self{rank, index.rankCount()},
      program(index.place(rank).program), options(std::move(given)),
      wrapped(options.wrap ? options.wrap(direct, index.device(rank))
                           : nullptr),
      transport(wrapped ? *wrapped : direct),
      allocator(makeAllocator(options.keeping, index.device(rank))),
      state(index, program, *allocator), executor(index, rank, transport) {
  result.device = index.device(rank);
  result.provedBytes = options.mode == Mode::Safe
                           ? index.program(program).peak_safe()
                           : index.program(program).peak();
  result.stateBytes = std::max(sideBytes(index, program, Side::Prev),
                               sideBytes(index, program, Side::Curr));
  if (options.keeping.isResumed()) {
    standing = options.keeping.standings[rank];
    // What one knows holds for all.
    standing.isDecided = options.keeping.isDecided();
  }
}

DeviceRun::~DeviceRun() {
  for (Buffer slab : {sendSlab, recvSlab})
    if (slab.data)
      allocator->release(slab);
  // Whatever this device holds now is what a later process finds.
  allocator->keepForLater();
}

void DeviceRun::enter(Phase phase, uint32_t round) const {
  if (options.observer)
    options.observer->enter(result.device, round, phase);
}

Status DeviceRun::migrate() {
  Status status = prepare();
  if (status.ok() && !standing.isDecided) {
    status = barrier(transport, self, options.timeout);
    if (status.ok())
      status = runRounds();
  }
  if (status.ok())
    status = commit();
  if (!status.ok())
    (void)journal.append(Event::Stopped); // the first error counts
  return status.at(text("device ", result.device));
}

Status DeviceRun::prepare() {
  Result<Journal> opened =
      openJournal(options.keeping, index, self.rank, options.mode);
  if (!opened)
    return opened.status();
  journal = std::move(*opened);
  if (Status s = allocateSlabs(); !s.ok())
    return s;
  return prepareState();
}

Status DeviceRun::allocateSlabs() {
  for (auto [slab, bytes] :
       {std::pair(&sendSlab, index.program(program).send_slab()),
        std::pair(&recvSlab, index.program(program).recv_slab())}) {
    if (bytes == 0)
      continue;
    Result<Buffer> buffer = allocator->allocate(bytes);
    if (!buffer)
      return buffer.status();
    *slab = *buffer;
    std::memset(slab->data, 0, slab->bytes); // its pages are there in time
  }
  return Status::success();
}

Status DeviceRun::prepareState() {
  if (standing.isFilled)
    return state.attach(standing);
  enter(Phase::Fill, 0);
  if (Status s = state.allocatePrev(); !s.ok())
    return s;
  if (Status s = fillState(); !s.ok())
    return s;
  return journal.append(Event::Filled);
}

Status DeviceRun::fillState() {
  return state.forEachRegion(Side::Prev, [&](uint32_t tensor, Region region) {
    if (options.keeping.source)
      return options.keeping.source->read(index, result.device, tensor, region);
    fillRegion(index, tensor, Side::Prev, region);
    return Status::success();
  });
}

/// The busiest device's bytes at the floor rate come on top of what one waits
/// for anything.
Milliseconds DeviceRun::roundTimeout(uint32_t round) const {
  uint64_t bytes = index.plan().forecast()->Get(round)->max_port_bytes();
  return options.timeout + Milliseconds(bytes / (options.floorRate / 1000 + 1));
}

Status DeviceRun::runRounds() {
  RoundContext context{
      state,
      {{sendSlab.data, sendSlab.bytes}, {recvSlab.data, recvSlab.bytes}},
      journal,
      options.keeping,
      options.mode,
      options.observer};
  auto start = std::chrono::steady_clock::now();
  const uint32_t rounds = index.program(program).rounds()->size();
  for (uint32_t round = standing.acknowledged; round < rounds; ++round) {
    uint64_t before = executor.receivedBytes();
    if (Status s = executor.run(round, context, roundTimeout(round)); !s.ok())
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
  result.peakBytes = allocator->highWater();
  return Status::success();
}

/// Two phases: everybody is prepared, rank 0 writes down that this is so, then
/// nothing of the previous state is needed any more.
Status DeviceRun::commit() {
  const uint32_t rounds = index.program(program).rounds()->size();
  enter(Phase::Prepare, rounds);
  if (!standing.isPrepared)
    if (Status s = journal.append(Event::Prepared); !s.ok())
      return s.at("commit");
  auto decide = [&] {
    enter(Phase::Decide, rounds);
    return journal.append(Event::Decided);
  };
  if (!standing.isDecided)
    if (Status s = barrier(transport, self, options.timeout, decide); !s.ok())
      return s.at("commit");
  enter(Phase::Commit, rounds);
  if (!standing.isCommitted)
    if (Status s = journal.append(Event::Committed); !s.ok())
      return s.at("commit");
  state.commit();
  enter(Phase::Done, rounds);
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
