#include "NcclGroup.h"

#include "CallLog.h"

#include <algorithm>
#include <cstdlib>

using namespace etc::test;

unsigned &etc::test::handshakes() {
  static unsigned count = 0;
  return count;
}

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

bool GroupWork::touches(const Range &range) const {
  return std::any_of(transfers.begin(), transfers.end(),
                     [&](const Transfer &transfer) {
                       return !transfer.isDone && range.meets(transfer.memory);
                     });
}

/// Sends and receives of two ranks match in their order.
bool GroupWork::isNext(const Transfer &transfer) const {
  for (const Transfer &other : transfers)
    if (!other.isDone && other.isSend == transfer.isSend &&
        other.peer == transfer.peer)
      return &other == &transfer;
  return false;
}

/// With peers on NVLink both ends have to have registered: the sender looks for
/// the receiver's address when its own buffer is known
/// (ncclRegisterP2pIpcBuffer in src/register/sendrecv_reg.cc), and else waits
/// for steps that never come.
bool GroupWork::isRegistered(const Transfer &transfer) const {
  return std::any_of(
      comm.registered.begin(), comm.registered.end(),
      [&](const Range &range) { return range.holds(transfer.memory); });
}

void GroupWork::mismatch(const Transfer &transfer, uint64_t sent) {
  const bool hasOther = std::any_of(
      transfers.begin(), transfers.end(), [&](const Transfer &other) {
        return &other != &transfer && !other.isDone && !other.isSend &&
               other.peer == transfer.peer && other.memory.bytes == sent;
      });
  blame(*comm.world,
        (hasOther ? "order mismatch: rank " : "count mismatch: rank ") +
            std::to_string(transfer.peer) + " sends " + std::to_string(sent) +
            " bytes, rank " + std::to_string(comm.rank) + " receives " +
            std::to_string(transfer.memory.bytes));
}

static Range partOf(const Transfer &transfer) {
  return {transfer.memory.data + transfer.moved,
          std::min(kChunkBytes, transfer.memory.bytes - transfer.moved)};
}

/// Puts a piece into the buffers between two ranks, if one is free. Where they
/// hold nothing beyond the kernel, the send ends when all is taken out.
bool GroupWork::push(Transfer &transfer) {
  Connection &way = comm.world->connections[comm.rank][transfer.peer];
  const unsigned depth = comm.world->depth;
  const unsigned inside = way.pushed - way.popped;
  if (transfer.moved == transfer.memory.bytes) {
    transfer.isDone = depth > 0 || inside == 0;
    return transfer.isDone;
  }
  if (inside >= std::max(depth, 1u))
    return false;
  const Range part = partOf(transfer);
  Chunk &chunk =
      comm.world->chunks(comm.rank, transfer.peer)[way.pushed % kSteps];
  chunk.messageBytes = transfer.memory.bytes;
  chunk.bytes = static_cast<uint32_t>(part.bytes);
  chunk.isRegistered = isRegistered(transfer);
  if (!copyMemory(reinterpret_cast<Address>(chunk.data), part.data, part.bytes,
                  comm.device)) {
    recordFault("a send of memory that is not there");
    Schedule::get().breakDevice(comm.device, IllegalAddress);
    return false;
  }
  ++way.pushed;
  transfer.moved += part.bytes;
  return true;
}

bool GroupWork::pull(Transfer &transfer) {
  Connection &way = comm.world->connections[transfer.peer][comm.rank];
  if (way.pushed == way.popped)
    return false;
  const Chunk &chunk =
      comm.world->chunks(transfer.peer, comm.rank)[way.popped % kSteps];
  if (!transfer.isBegun && chunk.messageBytes != transfer.memory.bytes) {
    mismatch(transfer, chunk.messageBytes);
    return false;
  }
  if (!transfer.isBegun && chunk.isRegistered != isRegistered(transfer))
    recordFault("memory of a transfer from rank " +
                std::to_string(transfer.peer) + " to rank " +
                std::to_string(comm.rank) + " is registered at one end");
  transfer.isBegun = true;
  if (!copyMemory(transfer.memory.data + transfer.moved,
                  reinterpret_cast<Address>(chunk.data), chunk.bytes,
                  comm.device)) {
    recordFault("a receive into memory that is not there");
    Schedule::get().breakDevice(comm.device, IllegalAddress);
    return false;
  }
  transfer.moved += chunk.bytes;
  ++way.popped;
  transfer.isDone = transfer.moved == transfer.memory.bytes;
  return true;
}

bool GroupWork::moveOne(Random &random) {
  const size_t first = Schedule::get().isPlain() ? 0 : random();
  for (size_t i = 0; i != transfers.size(); ++i) {
    Transfer &transfer = transfers[(first + i) % transfers.size()];
    if (!transfer.isDone && isNext(transfer) &&
        (transfer.isSend ? push(transfer) : pull(transfer)))
      return true;
  }
  return false;
}

Step GroupWork::end() {
  if (!comm.isGone) { // else the world may be another's by now
    comm.state().isExecuting = false;
    comm.world->note(comm.rank);
  }
  std::erase_if(comm.groups,
                [&](const auto &group) { return group.get() == this; });
  return Step::Done;
}

Step GroupWork::step(Random &random) {
  SharedLock lock;
  // Groups of one communicator are done one after another, on whichever stream
  // (ncclLaunchPrepare in src/enqueue.cc has each wait for the one before).
  if (comm.groups.empty() || comm.groups.front().get() != this)
    return Step::Waiting;
  if (Schedule::get().stateOf(comm.device) != Success)
    return end();
  if (comm.isGone) {
    // The kernel looks at the flag now and then; it may be hung elsewhere.
    if (!isEnding)
      lingers = Schedule::get().isPlain() ? 0 : random() % 20;
    isEnding = true;
    static const bool isNever = std::getenv("ETC_DOUBLE_STUCK_ABORT");
    if (isNever)
      return Step::Waiting;
    return lingers-- == 0 ? end() : Step::Moved;
  }
  RankState &state = comm.state();
  if (!state.isExecuting) {
    state.isExecuting = true;
    comm.world->note(comm.rank);
  }
  if (state.code == NcclInternalError)
    return Step::Waiting; // for the abort
  bool hasMoved = moveOne(random);
  if (hasMoved)
    comm.world->note(comm.rank);
  if (std::all_of(transfers.begin(), transfers.end(),
                  [](const Transfer &transfer) { return transfer.isDone; }))
    return end();
  if (hasMoved) // and may move more
    return Step::Moved;
  state.groupTried = comm.world->changes;
  return Step::Waiting;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

GroupTask::GroupTask(Communicator &comm, std::shared_ptr<GroupWork> group)
    : comm(comm), group(std::move(group)),
      handshake(comm.rank, comm.world->size) {
  for (const Transfer &transfer : this->group->all()) {
    if (transfer.isSend) {
      if (!comm.world->connections[comm.rank][transfer.peer].isSendMade)
        handshake.sendTo(transfer.peer);
    } else if (!comm.world->connections[transfer.peer][comm.rank]
                    .isReceiveMade) {
      handshake.receiveFrom(transfer.peer);
    }
  }
  if (handshake.isEmpty())
    return;
  ++handshakes();
  comm.state().isConnecting = true;
}

Step GroupTask::step(Random &) {
  if (!handshake.isEmpty() && !isNoted)
    logCall("connect", "rank " + std::to_string(comm.rank), comm.device);
  isNoted = true;
  SharedLock lock;
  if (comm.isGone)
    return Step::Done;
  RankState &state = comm.state();
  if (state.code == NcclInternalError) {
    state.isConnecting = false;
    return Step::Done;
  }
  if (!handshake.isEmpty() && !hasConnected) {
    SharedBootstrap bootstrap(*comm.world);
    std::string misuse;
    const bool hasMoved = handshake.advance(bootstrap, misuse);
    if (hasMoved)
      comm.world->note(comm.rank);
    if (!misuse.empty()) {
      state.isConnecting = false;
      blame(*comm.world, misuse);
      return Step::Done;
    }
    if (!handshake.isDone()) {
      const std::set<int> peers = handshake.awaited();
      state.awaited = peers.empty() ? -1 : *peers.begin();
      // Whose process is gone closes its socket.
      if (state.awaited >= 0 && !comm.world->isAlive(state.awaited)) {
        state.isConnecting = false;
        state.code = NcclRemoteError;
        return Step::Done;
      }
      if (hasMoved) // and may come further
        return Step::Moved;
      state.connectTried = comm.world->changes;
      return Step::Waiting;
    }
    hasConnected = true;

    for (const Transfer &transfer : group->all())
      if (transfer.isSend)
        comm.world->connections[comm.rank][transfer.peer].isSendMade = true;
      else
        comm.world->connections[transfer.peer][comm.rank].isReceiveMade = true;
    state.isConnecting = false;
  }
  comm.groups.push_back(group);
  Schedule::get().enqueue(group->on(), group);
  state.code = NcclSuccess;
  comm.world->note(comm.rank);
  return Step::Done;
}
