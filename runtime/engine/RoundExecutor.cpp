#include "engine/RoundExecutor.h"

#include "engine/Describe.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <chrono>

using namespace etc;
using namespace etc::runtime;
using etc::plan::fb::Op;
using etc::plan::fb::OpKind;

RoundExecutor::RoundExecutor(const PlanIndex &index, uint32_t rank,
                             Control &control, Transport &transport,
                             Worker &worker, Verify verify)
    : index(index), rank(rank), participant(index.participant(rank)),
      control(control), transport(transport), worker(worker),
      goesByPiece(transport.pieceBytes() > 0),
      isHashed(verify != Verify::Off && !transport.sharesMemory()),
      messages(index, rank, transport, isHashed) {}

/// Runs a step, adds its time, and logs it.
template <typename Step>
Status RoundExecutor::timed(const char *name, TraceLog *trace, double &seconds,
                            Step step) {
  auto begin = std::chrono::steady_clock::now();
  Status status = step();
  auto end = std::chrono::steady_clock::now();
  seconds += std::chrono::duration<double>(end - begin).count();
  if (trace)
    trace->add({index.device(rank), round, name, begin, end});
  return status;
}

Status RoundExecutor::run(uint32_t number, const RoundContext &context,
                          const Deadline &deadline) {
  round = number;
  hasLanded = round < context.keeping.landed(rank);
  DeviceState &state = context.state;
  const Ops &ops =
      *index.program(participant.program).rounds()->Get(round)->ops();
  auto enter = [&](Phase phase) {
    if (context.observer)
      context.observer->enter(index.device(rank), round, phase);
  };
  auto step = [&](const char *name, double &seconds, auto body) {
    return timed(name, context.trace, seconds, body);
  };

  enter(Phase::Pack);
  if (Status s = step("pack", spent.pack, [&] { return pack(ops, context); });
      !s.ok())
    return s;
  enter(Phase::Transfer);
  if (Status s = transport.post(messages.outgoing, messages.incoming); !s.ok())
    return explain(s, transport.culprit(), OpKind::send);
  // While messages travel.
  if (!goesByPiece)
    if (Status s = tellHashes(); !s.ok())
      return s;
  if (Status s =
          step("copy", spent.copy, [&] { return copyLocally(ops, state); });
      !s.ok())
    return s;
  if (Status s =
          step("wait", spent.wait, [&] { return transport.wait(deadline); });
      !s.ok())
    return explain(s, transport.culprit(), OpKind::recv);
  if (goesByPiece) // only now are they known
    if (Status s = tellHashes(); !s.ok())
      return s;
  spent.pack += fillSeconds; // beside the wait
  spent.wait -= takeSeconds;
  spent.unpack += takeSeconds;
  if (Status s =
          step("unpack", spent.unpack, [&] { return unpack(state, deadline); });
      !s.ok())
    return s;
  return step("acknowledge", spent.acknowledge, [&] {
    enter(Phase::Land);
    if (Status s = land(context); !s.ok())
      return s;
    enter(Phase::Acknowledge);
    if (Status s = acknowledge(deadline); !s.ok())
      return s;
    countBytes();
    enter(Phase::Release);
    return release(ops, context);
  });
}

Status RoundExecutor::blame(uint32_t peer, OpKind kind,
                            const char *what) const {
  return Status(ErrorKind::Peer,
                text("transfer of ",
                     describeMessage(index, rank, peer, round, kind), what));
}

Status RoundExecutor::explain(const Status &error, std::optional<uint32_t> peer,
                              OpKind kind) const {
  if (error.kind() != ErrorKind::Peer || !peer)
    return error;
  return error.at(
      text("transfer of ", describeMessage(index, rank, *peer, round, kind)));
}

Status RoundExecutor::pack(const Ops &ops, const RoundContext &context) {
  if (!hasLanded)
    if (Status s = allocate(ops, context.state); !s.ok())
      return s;
  messages.layOut(round, context.state, context.slabs, context.keeping);
  sentHashes.assign(messages.outgoing.size(), 0);
  receivedHashes.assign(messages.incoming.size(), 0);
  fillSeconds = takeSeconds = 0;
  if (!goesByPiece)
    return worker.run(messages.packs.all(), sentHashes);
  for (size_t i = 0; i != messages.outgoing.size(); ++i)
    messages.outgoing[i].fill = [this, i](size_t piece) {
      return fillPiece({i, piece});
    };
  for (size_t i = 0; i != messages.incoming.size(); ++i)
    messages.incoming[i].take = [this, i](size_t piece) {
      return takePiece({i, piece});
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

Status RoundExecutor::fillPiece(PieceMoves::Position at) {
  return runTimed(worker, messages.packs.of(at), sentHashes, fillSeconds);
}

Status RoundExecutor::takePiece(PieceMoves::Position at) {
  return runTimed(worker, messages.unpacks.of(at), receivedHashes, takeSeconds);
}

/// Tells receivers what was sent to them.
Status RoundExecutor::tellHashes() {
  std::vector<PeerHash> told;
  for (size_t i = 0; isHashed && i != sentHashes.size(); ++i)
    told.push_back({messages.outgoing[i].peer, sentHashes[i]});
  return explain(sendHashes(control, told), control.culprit(), OpKind::send);
}

/// Compares what has come with what senders tell.
Status RoundExecutor::hearHashes(const Deadline &deadline) {
  std::vector<PeerHash> heard;
  for (size_t i = 0; isHashed && i != receivedHashes.size(); ++i)
    heard.push_back({messages.incoming[i].peer, 0});
  if (Status s = receiveHashes(control, heard, deadline); !s.ok())
    return explain(s, control.culprit(), OpKind::recv);
  for (size_t i = 0; i != heard.size(); ++i)
    if (receivedHashes[i] != heard[i].hash)
      return blame(heard[i].peer, OpKind::recv, ": arrived damaged");
  return Status::success();
}

Status RoundExecutor::allocate(const Ops &ops, DeviceState &state) {
  for (const Op *op : ops)
    if (op->kind() != OpKind::send && op->kind() != OpKind::release &&
        !index.bindsMemory(participant.program, *op))
      if (Status s = state.ensure(plan::targetSide(*op), op->tensor()); !s.ok())
        return s;
  return Status::success();
}

Status RoundExecutor::copyLocally(const Ops &ops, DeviceState &state) {
  if (hasLanded)
    return Status::success();
  std::vector<Move> moves; // all read what earlier rounds left
  for (const Op *op : ops) {
    if (op->kind() == OpKind::send || op->kind() == OpKind::recv ||
        op->kind() == OpKind::release)
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
  return worker.run(moves, {});
}

/// What is damaged is not noted as landed, so the next attempt receives it
/// again, to the same place.
Status RoundExecutor::unpack(DeviceState &state, const Deadline &deadline) {
  std::vector<Move> views;
  if (Status s = messages.readViews(state, views); !s.ok())
    return s;
  if (Status s = worker.run(views, {}); !s.ok())
    return s;
  if (!goesByPiece)
    if (Status s = worker.run(messages.unpacks.all(), receivedHashes); !s.ok())
      return s;
  return hearHashes(deadline);
}

static uint64_t hashOf(const std::vector<uint64_t> &hashes) {
  return XXH3_64bits(hashes.data(), hashes.size() * sizeof hashes[0]);
}

Status RoundExecutor::land(const RoundContext &context) {
  if (hasLanded)
    return Status::success();
  return context.journal.append(
      {Event::Landed, round, hashOf(receivedHashes), hashOf(sentHashes), 0});
}

/// Tells senders what landed, and learns what landed at the receivers.
Status RoundExecutor::acknowledge(const Deadline &deadline) {
  std::vector<PeerHash> told, heard;
  for (size_t i = 0; i != messages.incoming.size(); ++i)
    told.push_back({messages.incoming[i].peer, receivedHashes[i]});
  for (const Outgoing &message : messages.outgoing)
    heard.push_back({message.peer, 0});
  Status status = sendHashes(control, told);
  if (status.ok())
    status = receiveHashes(control, heard, deadline);
  if (!status.ok())
    return explain(status, control.culprit(), OpKind::send);
  for (size_t i = 0; i != heard.size(); ++i)
    if (heard[i].hash != sentHashes[i])
      return blame(heard[i].peer, OpKind::send,
                   ": the acknowledgement is of something else");
  return Status::success();
}

void RoundExecutor::countBytes() {
  const uint32_t node = index.nodeOf(index.device(rank));
  for (const Outgoing &message : messages.outgoing)
    sent += message.bytes;
  for (const Incoming &message : messages.incoming) {
    received += message.bytes;
    if (index.nodeOf(index.device(message.peer)) != node)
      internode += message.bytes;
  }
}

Status RoundExecutor::release(const Ops &ops, const RoundContext &context) {
  // Where the others went on without this process, they hold what they hold.
  if (Status s = control.check(); !s.ok())
    return s;
  // Noted first: a shard that is gone is never believed to be there.
  if (Status s = context.journal.append({Event::Acknowledged, round, 0, 0, 0});
      !s.ok())
    return s;
  // What was passed on is with its receivers, and of no use here.
  for (const Op *op : ops)
    if (op->kind() == OpKind::release &&
        (op->transit() || context.mode == Mode::Eager))
      context.state.release(plan::releasedSide(*op), op->tensor());
  return Status::success();
}
