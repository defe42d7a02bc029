#include "engine/RoundExecutor.h"

#include "engine/Describe.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace etc::runtime;
using etc::plan::Box;
using etc::plan::fb::Op;
using etc::plan::fb::OpKind;

constexpr uint32_t kNone = ~uint32_t{0};

RoundExecutor::RoundExecutor(const PlanIndex &index, uint32_t rank,
                             Transport &transport)
    : index(index), rank(rank), place(index.place(rank)), transport(transport) {
}

uint32_t RoundExecutor::rankOfSlot(uint32_t slot) const {
  const auto &peers = *index.program(place.program).peers();
  return *index.rankOf(peers.Get(slot)->devices()->Get(place.replica));
}

Status RoundExecutor::run(uint32_t number, const RoundContext &context,
                          Milliseconds timeout) {
  round = number;
  hasLanded = round < context.keeping.landed(rank);
  DeviceState &state = context.state;
  const Ops &ops = *index.program(place.program).rounds()->Get(round)->ops();
  auto enter = [&](Phase phase) {
    if (context.observer)
      context.observer->enter(index.device(rank), round, phase);
  };
  layOut(ops, context);
  if (Status s = hasLanded ? Status::success() : allocate(ops, state); !s.ok())
    return s;
  enter(Phase::Pack);
  pack(ops, state);
  enter(Phase::Transfer);
  if (Status s = transport.post(outgoing, incoming); !s.ok())
    return explain(s, OpKind::send);
  if (!hasLanded)
    copyLocally(ops, state); // while messages travel
  if (Status s = transport.wait(timeout); !s.ok())
    return explain(s, OpKind::recv);
  if (Status s = checkHashes(timeout); !s.ok())
    return s;
  unpack(ops, state);
  enter(Phase::Land);
  if (Status s = land(context); !s.ok())
    return s;
  enter(Phase::Acknowledge);
  if (Status s = acknowledge(timeout); !s.ok())
    return s;
  enter(Phase::Release);
  return release(ops, context);
}

Status RoundExecutor::explain(const Status &error, OpKind kind) const {
  std::optional<uint32_t> peer = transport.culprit();
  if (error.kind() != ErrorKind::Peer || !peer)
    return error;
  return error.at(
      text("transfer of ", describeMessage(index, rank, *peer, round, kind)));
}

/// One message a peer and direction, one after the other in the slabs. What has
/// landed before is left out.
void RoundExecutor::layOut(const Ops &ops, const RoundContext &context) {
  size_t slots = index.program(place.program).peers()->size();
  std::vector<uint64_t> sendBytes(slots), recvBytes(slots);
  for (const Op *op : ops) {
    if (op->kind() == OpKind::send &&
        context.keeping.landed(rankOfSlot(op->peer())) <= round)
      sendBytes[op->peer()] += index.opBytes(*op);
    if (op->kind() == OpKind::recv && !hasLanded)
      recvBytes[op->peer()] += index.opBytes(*op);
  }
  Slabs slabs = context.slabs;
  outgoing.clear();
  incoming.clear();
  packed.clear();
  outgoingOfSlot.assign(slots, kNone);
  incomingOfSlot.assign(slots, kNone);
  for (uint32_t slot = 0; slot != slots; ++slot) {
    if (uint64_t bytes = sendBytes[slot]) {
      outgoingOfSlot[slot] = outgoing.size();
      outgoing.push_back({rankOfSlot(slot), slabs.send.first(bytes)});
      packed.push_back(slabs.send.data());
      slabs.send = slabs.send.subspan(bytes);
      sent += bytes;
    }
    if (uint64_t bytes = recvBytes[slot]) {
      incomingOfSlot[slot] = incoming.size();
      incoming.push_back({rankOfSlot(slot), slabs.recv.first(bytes), {}});
      slabs.recv = slabs.recv.subspan(bytes);
      received += bytes;
    }
  }
}

Status RoundExecutor::allocate(const Ops &ops, DeviceState &state) {
  for (const Op *op : ops)
    if (op->kind() != OpKind::send && op->kind() != OpKind::release &&
        !index.bindsMemory(place.program, *op))
      if (Status s = state.ensureCurr(op->tensor()); !s.ok())
        return s;
  return Status::success();
}

void RoundExecutor::pack(const Ops &ops, const DeviceState &state) {
  for (const Op *op : ops) {
    if (op->kind() != OpKind::send || outgoingOfSlot[op->peer()] == kNone)
      continue;
    Box box = index.opBox(*op);
    Side side = op->from_curr() ? Side::Curr : Side::Prev;
    Region from = state.around(side, op->source(), box);
    std::byte *&cursor = packed[outgoingOfSlot[op->peer()]];
    copyBox({from.data, from.box}, {cursor, box}, box,
            index.elementBytes(op->tensor()));
    cursor += index.opBytes(*op);
  }
}

void RoundExecutor::copyLocally(const Ops &ops, DeviceState &state) {
  for (const Op *op : ops) {
    if (op->kind() == OpKind::send || op->kind() == OpKind::recv ||
        op->kind() == OpKind::release)
      continue;
    if (index.bindsMemory(place.program, *op)) {
      state.bind(op->tensor());
      continue;
    }
    Box box = index.opBox(*op);
    Region to = state.around(Side::Curr, op->tensor(), box);
    if (op->kind() == OpKind::zero) {
      zeroBox(to, box, index.elementBytes(op->tensor()));
    } else if (op->kind() == OpKind::derive) {
      Region from = state.around(Side::Curr, op->source(), box);
      castBox({from.data, from.box}, to, box,
              index.tensor(op->tensor()).dtype());
    } else {
      Region from = state.around(Side::Prev, op->source(), box);
      copyBox({from.data, from.box}, to, box, index.elementBytes(op->tensor()));
    }
  }
}

void RoundExecutor::unpack(const Ops &ops, DeviceState &state) {
  std::vector<const std::byte *> cursors;
  for (const Incoming &message : incoming)
    cursors.push_back(message.bytes.data());
  for (const Op *op : ops) {
    if (op->kind() != OpKind::recv || hasLanded)
      continue;
    Box box = index.opBox(*op);
    const std::byte *&cursor = cursors[incomingOfSlot[op->peer()]];
    copyBox({cursor, box}, state.around(Side::Curr, op->tensor(), box), box,
            index.elementBytes(op->tensor()));
    cursor += index.opBytes(*op);
  }
}

static uint64_t hashOf(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

/// Senders tell what they sent, so a receiver knows that it has it before it
/// says so.
Status RoundExecutor::checkHashes(Milliseconds timeout) {
  sentHashes.clear();
  receivedHashes.clear();
  std::vector<Acknowledgement> told, heard;
  for (const Outgoing &message : outgoing)
    told.push_back(
        {message.peer, sentHashes.emplace_back(hashOf(message.bytes))});
  for (const Incoming &message : incoming)
    heard.push_back({message.peer, 0});
  if (Status s = transport.acknowledge(told, heard, timeout); !s.ok())
    return explain(s, OpKind::recv);
  for (size_t i = 0; i != incoming.size(); ++i)
    if (heard[i].hash != receivedHashes.emplace_back(hashOf(incoming[i].bytes)))
      return Status(ErrorKind::Peer,
                    text("transfer of ",
                         describeMessage(index, rank, incoming[i].peer, round,
                                         OpKind::recv),
                         ": arrived damaged"));
  return Status::success();
}

Status RoundExecutor::land(const RoundContext &context) {
  if (hasLanded)
    return Status::success();
  auto all = [](const std::vector<uint64_t> &hashes) {
    return XXH3_64bits(hashes.data(), hashes.size() * sizeof hashes[0]);
  };
  return context.journal.append(
      {Event::Landed, round, all(receivedHashes), all(sentHashes), 0});
}

/// Tells senders what landed, and learns what landed at the receivers.
Status RoundExecutor::acknowledge(Milliseconds timeout) {
  std::vector<Acknowledgement> told, heard;
  for (size_t i = 0; i != incoming.size(); ++i)
    told.push_back({incoming[i].peer, receivedHashes[i]});
  for (const Outgoing &message : outgoing)
    heard.push_back({message.peer, 0});
  if (Status s = transport.acknowledge(told, heard, timeout); !s.ok())
    return explain(s, OpKind::send);
  for (size_t i = 0; i != outgoing.size(); ++i)
    if (heard[i].hash != sentHashes[i])
      return Status(ErrorKind::Peer,
                    text("transfer of ",
                         describeMessage(index, rank, outgoing[i].peer, round,
                                         OpKind::send),
                         ": the acknowledgement is of something else"));
  return Status::success();
}

Status RoundExecutor::release(const Ops &ops, const RoundContext &context) {
  // Noted first: a shard that is gone is never believed to be there.
  if (Status s = context.journal.append({Event::Acknowledged, round, 0, 0, 0});
      !s.ok())
    return s;
  if (context.mode == Mode::Safe)
    return Status::success();
  for (const Op *op : ops)
    if (op->kind() == OpKind::release)
      context.state.releasePrev(op->tensor());
  return Status::success();
}
