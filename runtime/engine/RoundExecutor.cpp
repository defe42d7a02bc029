#include "engine/RoundExecutor.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace etc::runtime;
using etc::plan::Box;
using etc::plan::fb::Op;
using etc::plan::fb::OpKind;

constexpr uint32_t kNone = ~uint32_t{0};

RoundExecutor::RoundExecutor(const PlanIndex &index, uint32_t rank,
                             Transport &transport)
    : index(index), place(index.place(rank)), transport(transport) {}

uint32_t RoundExecutor::rankOfSlot(uint32_t slot) const {
  const auto &peers = *index.program(place.program).peers();
  return *index.rankOf(peers.Get(slot)->devices()->Get(place.replica));
}

Status RoundExecutor::run(uint32_t round, DeviceState &state, Slabs slabs,
                          Milliseconds timeout) {
  const Ops &ops = *index.program(place.program).rounds()->Get(round)->ops();
  layOut(ops, slabs);
  if (Status s = allocate(ops, state); !s.ok())
    return s;
  pack(ops, state);
  if (Status s = transport.post(outgoing, incoming); !s.ok())
    return s;
  copyLocally(ops, state); // while messages travel
  if (Status s = transport.wait(timeout); !s.ok())
    return s;
  unpack(ops, state);
  if (Status s = acknowledge(timeout); !s.ok())
    return s;
  release(ops, state);
  return Status::success();
}

/// One message a peer and direction, one after the other in the slabs.
void RoundExecutor::layOut(const Ops &ops, Slabs slabs) {
  size_t slots = index.program(place.program).peers()->size();
  std::vector<uint64_t> sendBytes(slots), recvBytes(slots);
  for (const Op *op : ops) {
    if (op->kind() == OpKind::send)
      sendBytes[op->peer()] += index.opBytes(*op);
    if (op->kind() == OpKind::recv)
      recvBytes[op->peer()] += index.opBytes(*op);
  }
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
    if (op->kind() != OpKind::send)
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
    if (op->kind() != OpKind::recv)
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

/// Tells senders what arrived, and learns what arrived at the receivers.
Status RoundExecutor::acknowledge(Milliseconds timeout) {
  std::vector<Acknowledgement> receivedHashes, sentHashes;
  for (const Incoming &message : incoming)
    receivedHashes.push_back({message.peer, hashOf(message.bytes)});
  for (const Outgoing &message : outgoing)
    sentHashes.push_back({message.peer, 0});
  if (Status s = transport.acknowledge(receivedHashes, sentHashes, timeout);
      !s.ok())
    return s;
  for (size_t i = 0; i != outgoing.size(); ++i)
    if (sentHashes[i].hash != hashOf(outgoing[i].bytes))
      return Status(ErrorKind::Verification,
                    text("the message to device ",
                         index.device(outgoing[i].peer), " arrived damaged"));
  return Status::success();
}

void RoundExecutor::release(const Ops &ops, DeviceState &state) {
  for (const Op *op : ops)
    if (op->kind() == OpKind::release)
      state.releasePrev(op->tensor());
}
