#include "engine/RoundExecutor.h"

#include <chrono>

using namespace etc::runtime;
using etc::plan::Box;
using etc::plan::fb::Op;
using etc::plan::fb::OpKind;

RoundExecutor::RoundExecutor(const PlanIndex &index, uint32_t rank,
                             Transport &transport, Worker &worker)
    : index(index), place(index.place(rank)), transport(transport),
      worker(worker), messages(index, place, transport.sharesMemory()) {}

/// Runs a step, adds its time, and logs it.
template <typename Step>
Status RoundExecutor::timed(const char *name, uint32_t round, double &seconds,
                            Step step) {
  auto begin = std::chrono::steady_clock::now();
  Status status = step();
  auto end = std::chrono::steady_clock::now();
  seconds += std::chrono::duration<double>(end - begin).count();
  if (trace) {
    const auto *devices = index.program(place.program).devices();
    trace->add({devices->Get(place.replica), round, name, begin, end});
  }
  return status;
}

Status RoundExecutor::run(uint32_t round, DeviceState &state, Slabs slabs,
                          Milliseconds timeout) {
  const Ops &ops = *index.program(place.program).rounds()->Get(round)->ops();
  if (Status s = timed("pack", round, spent.pack,
                       [&] {
                         if (Status s = allocate(ops, state); !s.ok())
                           return s;
                         messages.layOut(ops, state, slabs);
                         return pack();
                       });
      !s.ok())
    return s;
  if (Status s = transport.post(messages.outgoing, messages.incoming); !s.ok())
    return s;
  // While messages travel.
  if (Status s = timed("copy", round, spent.copy,
                       [&] { return copyLocally(ops, state); });
      !s.ok())
    return s;
  if (Status s = timed("wait", round, spent.wait,
                       [&] { return transport.wait(timeout); });
      !s.ok())
    return s;
  if (Status s = timed("unpack", round, spent.unpack,
                       [&] { return unpack(ops, state); });
      !s.ok())
    return s;
  if (Status s = timed("acknowledge", round, spent.acknowledge,
                       [&] { return acknowledge(timeout); });
      !s.ok())
    return s;
  countBytes();
  release(ops, state);
  return Status::success();
}

Status RoundExecutor::allocate(const Ops &ops, DeviceState &state) {
  for (const Op *op : ops)
    if (op->kind() != OpKind::send && op->kind() != OpKind::release &&
        !index.bindsMemory(place.program, *op))
      if (Status s = state.ensureCurr(op->tensor()); !s.ok())
        return s;
  return Status::success();
}

Status RoundExecutor::pack() {
  sentHashes.assign(messages.outgoing.size(), 0);
  return worker.run(messages.packs, sentHashes);
}

Status RoundExecutor::copyLocally(const Ops &ops, DeviceState &state) {
  std::vector<Move> moves; // all read what earlier rounds left
  for (const Op *op : ops) {
    if (op->kind() == OpKind::send || op->kind() == OpKind::recv ||
        op->kind() == OpKind::release)
      continue;
    if (index.bindsMemory(place.program, *op)) {
      state.bind(op->tensor());
      continue;
    }
    Box box = index.opBox(*op);
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

Status RoundExecutor::unpack(const Ops &ops, DeviceState &state) {
  std::vector<Move> moves;
  if (Status s = messages.unpack(ops, state, moves); !s.ok())
    return s;
  receivedHashes.assign(messages.incoming.size(), 0);
  return worker.run(moves, receivedHashes);
}

/// Tells senders what arrived, and learns what arrived at the receivers.
Status RoundExecutor::acknowledge(Milliseconds timeout) {
  std::vector<Acknowledgement> mine, theirs;
  for (size_t i = 0; i != messages.incoming.size(); ++i)
    mine.push_back({messages.incoming[i].peer, receivedHashes[i]});
  for (const Outgoing &message : messages.outgoing)
    theirs.push_back({message.peer, 0});
  if (Status s = transport.acknowledge(mine, theirs, timeout); !s.ok())
    return s;
  for (size_t i = 0; i != theirs.size(); ++i)
    if (theirs[i].hash != sentHashes[i])
      return Status(ErrorKind::Verification,
                    text("the message to device ", index.device(theirs[i].peer),
                         " arrived damaged"));
  return Status::success();
}

void RoundExecutor::countBytes() {
  const uint32_t node =
      index.nodeOf(index.program(place.program).devices()->Get(place.replica));
  for (const Outgoing &message : messages.outgoing)
    sent += message.bytes;
  for (const Incoming &message : messages.incoming) {
    received += message.bytes;
    if (index.nodeOf(index.device(message.peer)) != node)
      internode += message.bytes;
  }
}

void RoundExecutor::release(const Ops &ops, DeviceState &state) {
  for (const Op *op : ops)
    if (op->kind() == OpKind::release)
      state.releasePrev(op->tensor());
}
