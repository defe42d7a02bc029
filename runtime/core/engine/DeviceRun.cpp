#include "core/engine/DeviceRun.h"

#include "core/engine/Ceiling.h"
#include "core/engine/Peers.h"
#include "core/transport/Pace.h"

#include <algorithm>
#include <utility>

using namespace etc::runtime;
using etc::plan::fb::OpKind;
using Clock = std::chrono::steady_clock;

/// How long connections may take to end, when all is done.
constexpr Milliseconds kFarewell{5000};

static double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

DeviceRun::DeviceRun(const PlanIndex &index, uint32_t rank, Control &control,
                     Transport &direct, Worker &worker, RunOptions given)
    : index(index), self{rank, index.rankCount()},
      program(index.participant(rank).program), options(std::move(given)),
      control(control),
      wrapped(options.wrap ? options.wrap(direct, index.device(rank))
                           : nullptr),
      transport(wrapped ? *wrapped : direct), worker(worker),
      state(index, program, worker.allocator()),
      executor(index, rank, control, transport, worker, options.verify,
               options.mode),
      tail(options.tail ? *options.tail : transport),
      arrivals_(index, program) {
  if (options.tail)
    tailExecutor.emplace(index, rank, control, tail, worker, options.verify,
                         options.mode);
  result.device = index.device(rank);
  noteSizes();
  if (options.keeping.isResumed()) {
    standing = options.keeping.standings[rank];
    // What one knows holds for all.
    standing.isDecided = options.keeping.isDecided();
  }
}

DeviceRun::~DeviceRun() {
  if (!stop())
    worker.abandon();
  // Whatever this device holds now is what a later process finds.
  worker.allocator().keepForLater();
}

bool DeviceRun::stop() {
  // What a device may still write to is nobody else's.
  if (!transport.stop() || !tail.stop() || !worker.stop())
    return false;
  worker.allocator().noteTransfers(false);
  for (Buffer *slab : {&sendSlab, &recvSlab})
    if (slab->data)
      worker.allocator().release(std::exchange(*slab, {}));
  return true;
}

bool DeviceRun::hasStopped() const {
  return transport.hasStopped() && tail.hasStopped() && worker.hasStopped();
}

void DeviceRun::enter(Phase phase, uint32_t round) const {
  if (options.observer)
    options.observer->enter(result.device, round, phase);
}

/// The journal says so where this is the end.
Status DeviceRun::conclude(const Status &status) {
  if (!status.ok())
    (void)journal.append(Event::Stopped); // the first error counts
  return status.at(text("device ", result.device));
}

Status DeviceRun::prepare() { return conclude(makeReady()); }

Status DeviceRun::migrate() {
  if (Status s = runPause(); !s.ok())
    return s;
  if (Status s = runTail(); !s.ok())
    return s;
  return finish();
}

Status DeviceRun::runPause() {
  Status status = Status::success();
  if (standing.isDecided)
    return status;
  status = barrier(control, self, options.timeout + options.fillTime);
  if (status.ok())
    status = runRounds(index.firstDeferredRound());
  if (status.ok() && options.tail)
    status = allocateTail();
  result.pauseSeconds = result.seconds;
  // Training may begin on all devices, or on none.
  if (status.ok() && index.hasTail())
    status = barrier(control, self, options.timeout);
  return conclude(status);
}

Status DeviceRun::runTail() {
  Status status = Status::success();
  if (!standing.isDecided && index.hasTail()) {
    tail.setBackground(true, options.tailRate);
    if (isUrgent)
      hurry();
    status = runRounds(index.plan().forecast()->size());
    tail.setBackground(false, 0);
  }
  return conclude(status);
}

void DeviceRun::hurry() {
  isUrgent = true;
  tail.setBackground(false, 0);
}

Status DeviceRun::finish() {
  Status status = commit();
  if (status.ok() && options.tail)
    tail.finish(kFarewell);
  if (status.ok())
    transport.finish(kFarewell);
  return conclude(status);
}

Status DeviceRun::makeReady() {
  if (!options.keeping.source)
    return Status(ErrorKind::Usage, "the previous state has no source");
  Result<Journal> opened =
      openJournal(options.keeping, index, self.rank, options.mode);
  if (!opened)
    return opened.status();
  journal = std::move(*opened);
  auto start = Clock::now();
  // First, so that nothing else has to make connections, or room for moves.
  if (Status s = connectPeers(options.prepareBy.value_or(options.timeout));
      !s.ok())
    return s;
  if (Status s = reserveMoves(); !s.ok())
    return s;
  result.prepareSeconds = secondsSince(start);
  if (options.ceiling)
    if (Status s = measureBareMessages(); !s.ok())
      return s;
  if (Status s = prepareState(); !s.ok())
    return s;
  start = Clock::now();
  if (!transport.sharesMemory())
    if (Status s = allocateSlabs(); !s.ok())
      return s;
  const auto &stated = index.program(program);
  uint64_t unused = stated.send_slab() + stated.recv_slab() - result.slabBytes;
  if (Status s = worker.reserve(result.provedBytes - unused); !s.ok())
    return s;
  if (Status s = allocateAhead(); !s.ok())
    return s;
  if (Status s = worker.rehearse([this](Allocator &copy) {
        DeviceState future(state, copy);
        return executor.rehearse(standing.acknowledged, options.mode, future);
      });
      !s.ok())
    return s;
  result.prepareSeconds += secondsSince(start);
  return Status::success();
}

Status DeviceRun::measureBareMessages() {
  // Virtual devices of one GPU send nothing: its kernels read where data lies,
  // and the host can't.
  if (transport.sharesMemory() && !worker.isHost())
    return Status::success();
  Result<double> seconds =
      measureCeiling(index, self, control, transport, worker, options.timeout);
  if (!seconds)
    return seconds.status();
  result.ceilingSeconds = *seconds;
  worker.allocator().forgetHighWater();
  return Status::success();
}

Status DeviceRun::prepareState() {
  if (standing.isFilled)
    return state.attach(standing);
  enter(Phase::Fill, 0);
  if (Status s = state.allocatePrev(); !s.ok())
    return s;
  if (Status s = fillPrev(); !s.ok())
    return s;
  return journal.append(Event::Filled);
}

Status DeviceRun::fillPrev() {
  Result<uint64_t> restored =
      options.keeping.source->fill(index, result.device, state, worker);
  result.restoredBytes += restored ? *restored : 0;
  return restored.status();
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

Status DeviceRun::allocateAhead() {
  if (!allocatesAhead(index, program, options.mode, worker))
    return Status::success();
  for (uint32_t round = 0; round != index.program(program).rounds()->size();
       ++round)
    if (Status s = allocateFor(round); !s.ok())
      return s;
  return Status::success();
}

/// What a round keeps of what it writes.
Status DeviceRun::allocateFor(uint32_t round) {
  for (const auto *op : *index.program(program).rounds()->Get(round)->ops())
    if (op->kind() != OpKind::send && op->kind() != OpKind::release &&
        !op->transit() && !index.bindsMemory(program, *op))
      if (Status s = state.ensure(Side::Curr, op->tensor()); !s.ok())
        return s;
  return Status::success();
}

/// While nothing of training is under way: an allocator may wait for all that
/// the device does, or hand out what a kernel still reads.
Status DeviceRun::allocateTail() {
  for (uint32_t round = index.firstDeferredRound();
       round < index.program(program).rounds()->size(); ++round)
    if (Status s = allocateFor(round); !s.ok())
      return s;
  return Status::success();
}

Status DeviceRun::connectPeers(const Deadline &deadline) {
  PeerRanks peers = findPeers(index, self.rank);
  if (Status s = transport.prepare({peers.targets, peers.sources}, deadline);
      !s.ok())
    return s;
  if (options.tail)
    if (Status s = tail.prepare({peers.targets, peers.sources}, deadline);
        !s.ok())
      return s;
  // Whoever is ahead may fail and hang up; others must not be connecting to it
  // then.
  return barrier(control, self, deadline);
}

/// Devices take messages whole: an op is one move at most, and a message has
/// one sum.
Status DeviceRun::reserveMoves() {
  const auto &stated = index.program(program);
  size_t most = 1; // of a measured ceiling
  for (const auto *round : *stated.rounds())
    most = std::max<size_t>(most, round->ops()->size());
  return worker.reserveMoves(most, stated.peers()->size());
}

/// The busiest device's bytes at the floor rate come on top of what one waits
/// for anything. A peer that keeps to a rate may be as far behind as all that
/// it sends in the tail takes.
Milliseconds DeviceRun::roundTimeout(uint32_t round) const {
  const auto &forecast = *index.plan().forecast();
  uint64_t bytes = forecast.Get(round)->max_port_bytes(), paced = 0;
  for (uint32_t r = index.firstDeferredRound(); r <= round; ++r)
    paced = etc::plan::addBytes(paced, forecast.Get(r)->max_port_bytes());
  return options.timeout +
         Milliseconds(bytes / (options.floorRate / 1000 + 1)) +
         Pace::timeOf(paced, options.slowestTail);
}

/// Those of this program before `end` that have not run yet.
Status DeviceRun::runRounds(uint32_t end) {
  RoundContext context{
      state,
      {{sendSlab.data, sendSlab.bytes}, {recvSlab.data, recvSlab.bytes}},
      journal,
      options.keeping,
      options.mode,
      options.observer,
      options.trace};
  auto start = Clock::now();
  const uint32_t rounds =
      std::min(index.program(program).rounds()->size(), end);
  next = std::max(next, standing.acknowledged);
  const bool isTail = tailExecutor && next >= index.firstDeferredRound();
  RoundExecutor &of = isTail ? *tailExecutor : executor;
  uint32_t begun = next;
  for (uint32_t &round = next; round < rounds; ++round) {
    const uint64_t before = of.receivedBytes();
    while (begun <= round ||
           (begun == round + 1 && begun < rounds && of.mayBeginEarly(begun))) {
      if (Status s = of.begin(begun, context); !s.ok())
        return s.at(text("round ", begun));
      ++begun;
    }
    if (Status s = of.end(round, context, roundTimeout(round)); !s.ok())
      return s.at(text("round ", round));
    arrivals_.ended(round + 1);
    if (options.progress) {
      options.progress->receivedBytes += of.receivedBytes() - before;
      options.progress->finishedRounds += 1;
    }
  }
  result.seconds += secondsSince(start);
  countRounds();
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
    if (Status s = decideTogether(control, self, options.timeout, decide);
        !s.ok())
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
  if (options.verify != Verify::Full)
    return Status::success();
  auto start = Clock::now();
  Status status =
      options.keeping.source->verify(index, result.device, state, worker);
  result.verifySeconds = secondsSince(start);
  result.verified = status.ok();
  return status.at(text("device ", result.device));
}

Status DeviceRun::write() {
  if (!options.sink)
    return Status::success();
  return options.sink->write(index, self.rank, [&](uint32_t tensor, Region to) {
    const Region from = state.around(Side::Curr, tensor, to.box);
    copyBox({from.data, from.box}, to, to.box, index.elementBytes(tensor));
    return Status::success();
  });
}
