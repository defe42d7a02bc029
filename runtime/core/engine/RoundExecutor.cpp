#include "core/engine/RoundExecutor.h"

#include "core/engine/Describe.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <chrono>
#include <utility>

using namespace etc;
using namespace etc::runtime;
using etc::plan::fb::Op;
using etc::plan::fb::OpKind;

static std::optional<Staging> stagingOf(const PlanIndex &index,
                                        uint32_t program,
                                        const Transport &transport,
                                        bool isHashed) {
  if (transport.sharesMemory())
    return std::nullopt;
  // What is not even hashed is not read again.
  return std::optional<Staging>(std::in_place, index, program,
                                transport.pieceBytes(),
                                isHashed && transport.receivesInCache());
}

static std::optional<RoundOverlap>
overlapOf(const PlanIndex &index, uint32_t program, Mode mode,
          const std::optional<Staging> &staging, const Transport &transport,
          Worker &worker) {
  if (!staging || transport.groups() < 2)
    return std::nullopt;
  const bool isAhead = allocatesAhead(index, program, mode, worker);
  // With a peer that is gone, a wait for the device would have no end.
  const bool mayAllocate = isAhead || !worker.allocator().mayWait();
  return RoundOverlap(index, program, isAhead ? Mode::Safe : mode, *staging,
                      mayAllocate);
}

RoundExecutor::RoundExecutor(const PlanIndex &index, uint32_t rank,
                             Control &control, Transport &transport,
                             Worker &worker, Verify verify, Mode mode)
    : index(index), rank(rank), participant(index.participant(rank)),
      control(control), transport(transport), worker(worker),
      goesByPiece(transport.pieceBytes() > 0),
      isHashed(verify != Verify::Off && !transport.sharesMemory()),
      staging(stagingOf(index, participant.program, transport, isHashed)),
      overlap(overlapOf(index, participant.program, mode, staging, transport,
                        worker)),
      rounds{Round({index, rank, transport, staging ? &*staging : nullptr,
                    isHashed}),
             Round({index, rank, transport, staging ? &*staging : nullptr,
                    isHashed})} {}

/// Runs a step, adds its time, and logs it.
template <typename Step>
Status RoundExecutor::timed(const char *name, const Round &round,
                            const RoundContext &context, double &seconds,
                            Step step) {
  auto begin = std::chrono::steady_clock::now();
  Status status = step();
  auto end = std::chrono::steady_clock::now();
  seconds += std::chrono::duration<double>(end - begin).count();
  if (context.trace)
    context.trace->add({index.device(rank), round.number, name, begin, end});
  return status;
}

void RoundExecutor::enter(const RoundContext &context, const Round &round,
                          Phase phase) const {
  if (context.observer)
    context.observer->enter(index.device(rank), round.number, phase);
}

Status RoundExecutor::begin(uint32_t number, const RoundContext &context) {
  Round &round = rounds[number % rounds.size()];
  worker.allocator().noteTransfers(isUnderWay());
  round.number = number;
  round.hasLanded = number < context.keeping.landed(rank);
  round.ops = index.program(participant.program).rounds()->Get(number)->ops();
  round.isUnderWay = true, round.isUnpacked = false;
  round.pack = round.beside = round.unpack = {};
  // What this round reads of the one before.
  Round *source = &rounds[(number + 1) % rounds.size()];
  if (!source->isUnderWay || !overlap->readsLast(number))
    source = nullptr;
  if (source)
    if (Status s = beginUnpack(*source); !s.ok())
      return s;
  // Where nothing is unpacked and nothing hashed, what was received is there
  // when its group has ended.
  DevicePoint after;
  if (source)
    after = source->unpack.end.event ? source->unpack.end : source->arrival;
  enter(context, round, Phase::Pack);
  if (Status s = timed("pack", round, context, spent.pack,
                       [&] { return pack(round, context, after); });
      !s.ok())
    return s;
  enter(context, round, Phase::Transfer);
  if (Status s = post(round, source); !s.ok())
    return explain(s, transport.culprit(), OpKind::send, round);
  // While messages travel.
  return timed("copy", round, context, spent.copy,
               [&] { return workBeside(round, context.state, after); });
}

Status RoundExecutor::post(Round &round, const Round *source) {
  if (Status s = transport.beginAfter(round.pack.end); !s.ok())
    return s;
  if (source)
    for (const Job *job : {&source->unpack, &source->beside})
      if (Status s = transport.beginAfter(job->end); !s.ok())
        return s;
  Status status =
      transport.post(round.messages.outgoing, round.messages.incoming);
  round.arrival = transport.end();
  return status;
}

/// The device need not wait for the host to see that messages are there.
Status RoundExecutor::beginUnpack(Round &round) {
  if (!round.arrival.event || std::exchange(round.isUnpacked, true))
    return Status::success();
  Result<Job> begun =
      worker.begin(Lane::In, round.messages.unpacks.all(),
                   round.messages.incoming.size(), round.arrival);
  if (!begun)
    return begun.status();
  round.unpack = std::move(*begun);
  return Status::success();
}

Status RoundExecutor::end(uint32_t number, const RoundContext &context,
                          const Deadline &deadline) {
  Round &round = rounds[number % rounds.size()];
  enter(context, round, Phase::Wait);
  if (Status s = beginUnpack(round); !s.ok())
    return s;
  if (Status s = timed("wait", round, context, spent.wait,
                       [&] { return await(round, deadline); });
      !s.ok())
    return s;
  spent.pack += round.fillSeconds; // beside the wait
  spent.wait -= round.takeSeconds;
  spent.unpack += round.takeSeconds;
  if (Status s = timed("unpack", round, context, spent.unpack,
                       [&] { return unpack(round, context.state, deadline); });
      !s.ok())
    return s;
  return timed("acknowledge", round, context, spent.acknowledge, [&] {
    enter(context, round, Phase::Land);
    if (Status s = land(round, context); !s.ok())
      return s;
    enter(context, round, Phase::Acknowledge);
    if (Status s = acknowledge(round, deadline); !s.ok())
      return s;
    countBytes(round);
    round.isUnderWay = false;
    enter(context, round, Phase::Release);
    return release(round, context);
  });
}

Status RoundExecutor::blame(uint32_t peer, OpKind kind, const char *what,
                            const Round &round) const {
  return Status(ErrorKind::Peer,
                text("transfer of ",
                     describeMessage(index, rank, peer, round.number, kind),
                     what));
}

Status RoundExecutor::explain(const Status &error, std::optional<uint32_t> peer,
                              OpKind kind, const Round &round) const {
  if (error.kind() != ErrorKind::Peer || !peer)
    return error;
  return error.at(text(
      "transfer of ", describeMessage(index, rank, *peer, round.number, kind)));
}

Status RoundExecutor::pack(Round &round, const RoundContext &context,
                           DevicePoint after) {
  if (!round.hasLanded)
    if (Status s =
            allocateFor(index, participant.program, *round.ops, context.state);
        !s.ok())
      return s;
  RoundMessages &messages = round.messages;
  messages.layOut(round.number, context.state, context.slabs, context.keeping);
  round.sentHashes.assign(messages.outgoing.size(), 0);
  round.receivedHashes.assign(messages.incoming.size(), 0);
  round.fillSeconds = round.takeSeconds = 0;
  if (!goesByPiece) {
    Result<Job> begun = worker.begin(Lane::Out, messages.packs.all(),
                                     messages.outgoing.size(), after);
    if (!begun)
      return begun.status();
    round.pack = std::move(*begun);
    return Status::success();
  }
  for (size_t i = 0; i != messages.outgoing.size(); ++i)
    messages.outgoing[i].fill = [this, i, &round](size_t piece) {
      return fillPiece(round, {i, piece});
    };
  for (size_t i = 0; i != messages.incoming.size(); ++i)
    messages.incoming[i].take = [this, i, &round](size_t piece) {
      return takePiece(round, {i, piece});
    };
  return Status::success();
}

/// Runs the moves of a piece, and adds their time.
static Status runTimed(Worker &worker, std::span<const Move> moves,
                       std::span<uint64_t> sums, double &seconds) {
  auto begin = std::chrono::steady_clock::now();
  Status status = worker.run(moves, sums);
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  seconds += took.count();
  return status;
}

Status RoundExecutor::fillPiece(Round &round, PieceMoves::Position at) {
  return runTimed(worker, round.messages.packs.of(at), round.sentHashes,
                  round.fillSeconds);
}

Status RoundExecutor::takePiece(Round &round, PieceMoves::Position at) {
  return runTimed(worker, round.messages.unpacks.of(at), round.receivedHashes,
                  round.takeSeconds);
}

/// Tells receivers what was sent to them.
Status RoundExecutor::tellHashes(const Round &round) {
  std::vector<PeerHash> told;
  for (size_t i = 0; isHashed && i != round.sentHashes.size(); ++i)
    told.push_back({round.messages.outgoing[i].peer, round.sentHashes[i]});
  return explain(sendHashes(control, told), control.culprit(), OpKind::send,
                 round);
}

/// What is known of what was sent when these jobs are done.
Status RoundExecutor::finishSends(Round &round) {
  for (const Job *job : {&round.pack, &round.beside})
    if (Status s = worker.end(*job, round.sentHashes); !s.ok())
      return s;
  return tellHashes(round);
}

/// Receivers learn hashes before messages have come, if these are known: else
/// only then is it certain that the device gets to them.
Status RoundExecutor::await(Round &round, const Deadline &deadline) {
  const bool isEarly =
      !goesByPiece && worker.isDone(round.pack) && worker.isDone(round.beside);
  if (isEarly)
    if (Status s = finishSends(round); !s.ok())
      return s;
  if (Status s = transport.wait(deadline); !s.ok())
    return explain(s, transport.culprit(), OpKind::recv, round);
  return isEarly ? Status::success() : finishSends(round);
}

/// Compares what has come with what senders tell.
Status RoundExecutor::hearHashes(const Round &round, const Deadline &deadline) {
  std::vector<PeerHash> heard;
  for (size_t i = 0; isHashed && i != round.receivedHashes.size(); ++i)
    heard.push_back({round.messages.incoming[i].peer, 0});
  if (Status s = receiveHashes(control, heard, deadline); !s.ok())
    return explain(s, control.culprit(), OpKind::recv, round);
  for (size_t i = 0; i != heard.size(); ++i)
    if (round.receivedHashes[i] != heard[i].hash)
      return blame(heard[i].peer, OpKind::recv, ": arrived damaged", round);
  return Status::success();
}

Status RoundExecutor::rehearse(uint32_t first, Mode mode,
                               DeviceState &state) const {
  return rehearseRounds(
      index, participant.program, mode, first,
      [this](uint32_t round) { return mayBeginEarly(round); }, state);
}

/// Copies what stays, and hashes what is sent from where it is.
Status RoundExecutor::workBeside(Round &round, DeviceState &state,
                                 DevicePoint after) {
  std::vector<Move> moves = round.messages.hashes;
  // All copies read what earlier rounds left.
  for (const Op *op : *round.ops) {
    if (round.hasLanded || op->kind() == OpKind::send ||
        op->kind() == OpKind::recv || op->kind() == OpKind::release)
      continue;
    if (index.bindsMemory(participant.program, *op)) {
      state.bind(op->tensor());
      continue;
    }
    BoxView box = index.opBox(*op);
    const unsigned size = index.elementBytes(op->tensor());
    Region to = state.around(Side::Curr, op->tensor(), box);
    if (op->kind() == OpKind::zero) {
      moves.push_back(zeroMove(to, box, size));
    } else if (op->kind() == OpKind::derive) {
      Region from = state.around(Side::Curr, op->source(), box);
      moves.push_back(castMove({from.data, from.box}, to, box,
                               index.tensor(op->tensor()).dtype()));
    } else {
      Region from = state.around(Side::Prev, op->source(), box);
      moves.push_back(copyMove({from.data, from.box}, to, box, size));
    }
  }
  Result<Job> begun =
      worker.begin(Lane::Out, moves, round.sentHashes.size(), after);
  if (!begun)
    return begun.status();
  round.beside = std::move(*begun);
  return Status::success();
}

/// What is damaged is not noted as landed, so the next attempt receives it
/// again, to the same place.
Status RoundExecutor::unpack(Round &round, DeviceState &state,
                             const Deadline &deadline) {
  std::vector<Move> views;
  if (Status s = round.messages.readViews(state, views); !s.ok())
    return s;
  if (Status s = worker.run(views, {}); !s.ok())
    return s;
  if (Status s = worker.end(round.unpack, round.receivedHashes); !s.ok())
    return s;
  if (!goesByPiece && !round.arrival.event)
    if (Status s =
            worker.run(round.messages.unpacks.all(), round.receivedHashes);
        !s.ok())
      return s;
  return hearHashes(round, deadline);
}

static uint64_t hashOf(const std::vector<uint64_t> &hashes) {
  return XXH3_64bits(hashes.data(), hashes.size() * sizeof hashes[0]);
}

Status RoundExecutor::land(const Round &round, const RoundContext &context) {
  if (round.hasLanded)
    return Status::success();
  return context.journal.append({Event::Landed, round.number,
                                 hashOf(round.receivedHashes),
                                 hashOf(round.sentHashes), 0});
}

/// Tells senders what landed, and learns what landed at the receivers.
Status RoundExecutor::acknowledge(const Round &round,
                                  const Deadline &deadline) {
  const RoundMessages &messages = round.messages;
  std::vector<PeerHash> told, heard;
  for (size_t i = 0; i != messages.incoming.size(); ++i)
    told.push_back({messages.incoming[i].peer, round.receivedHashes[i]});
  for (const Outgoing &message : messages.outgoing)
    heard.push_back({message.peer, 0});
  Status status = sendHashes(control, told);
  if (status.ok())
    status = receiveHashes(control, heard, deadline);
  if (!status.ok())
    return explain(status, control.culprit(), OpKind::send, round);
  for (size_t i = 0; i != heard.size(); ++i)
    if (heard[i].hash != round.sentHashes[i])
      return blame(heard[i].peer, OpKind::send,
                   ": the acknowledgement is of something else", round);
  return Status::success();
}

void RoundExecutor::countBytes(const Round &round) {
  const uint32_t node = index.nodeOf(index.device(rank));
  for (const Outgoing &message : round.messages.outgoing)
    sent += message.bytes;
  for (const Incoming &message : round.messages.incoming) {
    received += message.bytes;
    if (index.nodeOf(index.device(message.peer)) != node)
      internode += message.bytes;
  }
}

Status RoundExecutor::release(const Round &round, const RoundContext &context) {
  // Where the others went on without this process, they hold what they hold.
  if (Status s = control.check(); !s.ok())
    return s;
  // Noted first: a shard that is gone is never believed to be there.
  if (Status s =
          context.journal.append({Event::Acknowledged, round.number, 0, 0, 0});
      !s.ok())
    return s;
  worker.allocator().noteTransfers(isUnderWay());
  releaseAfter(*round.ops, context.mode, context.state);
  return Status::success();
}
