#include "NcclWorld.h"

#include <algorithm>
#include <cstring>

using namespace etc::runtime::nccl;
using namespace etc::test;

std::map<std::string, std::unique_ptr<World>> &etc::test::worlds() {
  static auto *all = new std::map<std::string, std::unique_ptr<World>>;
  return *all; // outlives everything
}

unsigned &etc::test::handshakes() {
  static unsigned count = 0;
  return count;
}

namespace {

void blame(World &world, const std::string &what) {
  recordFault(what);
  for (auto &rank : world.ranks)
    if (rank && !rank->isGone)
      rank->state = kInternalError;
  doubleState().changed.notify_all();
}

/// The first transfer of a rank's present group that is open to a peer.
Transfer *nextOf(Rank &rank, bool isSend, int peer) {
  if (rank.groups.empty())
    return nullptr;
  for (Transfer &transfer : rank.groups.front().transfers)
    if (!transfer.isDone && transfer.isSend == isSend && transfer.peer == peer)
      return &transfer;
  return nullptr;
}

bool hasOther(Rank &rank, const Transfer &like, size_t bytes) {
  for (Transfer &transfer : rank.groups.front().transfers)
    if (&transfer != &like && !transfer.isDone &&
        transfer.isSend == like.isSend && transfer.peer == like.peer &&
        transfer.bytes == bytes)
      return true;
  return false;
}

/// With peers on NVLink both ends have to have registered: the sender looks for
/// the receiver's address when its own buffer is known
/// (ncclRegisterP2pIpcBuffer in src/register/sendrecv_reg.cc), and else waits
/// for steps that never come.
bool isRegistered(const Rank &rank, const Transfer &transfer) {
  return std::any_of(rank.registered.begin(), rank.registered.end(),
                     [&](const Range &range) {
                       return range.holds({transfer.data, transfer.bytes});
                     });
}

/// Transfers between two ranks whose turn it is; returns whether there was one.
bool transferOne(World &world, Rank &from, Rank &to) {
  Transfer *send = nextOf(from, true, to.number);
  Transfer *recv = nextOf(to, false, from.number);
  if (!send || !recv)
    return false;
  if (send->bytes != recv->bytes) {
    const char *kind = hasOther(to, *recv, send->bytes) ? "order mismatch: "
                                                        : "count mismatch: ";
    blame(world, kind + ("rank " + std::to_string(from.number)) + " sends " +
                     std::to_string(send->bytes) + " bytes, rank " +
                     std::to_string(to.number) + " receives " +
                     std::to_string(recv->bytes));
    return false;
  }
  if (isRegistered(from, *send) != isRegistered(to, *recv))
    recordFault("memory of a transfer from rank " +
                std::to_string(from.number) + " to rank " +
                std::to_string(to.number) + " is registered at one end");
  std::memcpy(recv->data, send->data, send->bytes);
  send->isDone = recv->isDone = true;
  return true;
}

bool finishGroups(Rank &rank) {
  bool any = false;
  while (!rank.groups.empty() &&
         std::all_of(rank.groups.front().transfers.begin(),
                     rank.groups.front().transfers.end(),
                     [](const Transfer &t) { return t.isDone; })) {
    rank.groups.front().stream->finishTransfer();
    rank.groups.pop_front();
    any = true;
  }
  return any;
}

/// Starts a group's kernel.
void launch(Rank &rank) {
  rank.handshake.reset();
  rank.state = kSuccess;
  for (const Transfer &transfer : rank.launching.transfers)
    rank.connected.insert({transfer.isSend, transfer.peer});
  ++rank.launching.stream->pending;
  rank.groups.push_back(std::move(rank.launching));
  rank.launching = {};
}

/// Whether a rank whose connections are being made came to their end.
bool connectOne(Rank &rank) {
  if (!rank.handshake)
    return false;
  if (auto misuse = rank.handshake->advance(rank.world->bootstrap)) {
    rank.handshake.reset();
    blame(*rank.world, *misuse);
    return false;
  }
  if (!rank.handshake->isDone())
    return false;
  launch(rank);
  return true;
}

void progress(World &world) {
  for (bool any = true; any;) {
    any = false;
    // Twice: what one rank says lets those before it go on.
    for (size_t i = 0; i != 2 * world.ranks.size(); ++i)
      if (auto &rank = world.ranks[i % world.ranks.size()])
        any = connectOne(*rank) || any;
    for (auto &from : world.ranks)
      for (auto &to : world.ranks)
        while (from && to && transferOne(world, *from, *to))
          any = true;
    for (auto &rank : world.ranks)
      any = (rank && finishGroups(*rank)) || any;
    if (any)
      for (auto &rank : world.ranks)
        if (rank)
          rank->isWaiting = false;
  }
  doubleState().changed.notify_all();
}

} // namespace

void etc::test::findDeadlock(World &world) {
  const Rank *stuck = nullptr;
  for (auto &rank : world.ranks) {
    if (!rank || (!rank->isGone && !rank->isWaiting))
      return;
    if (!rank->isGone)
      stuck = rank.get();
  }
  for (auto &rank : world.ranks)
    if (rank->handshake)
      for (int peer : rank->handshake->awaited())
        return blame(world, "deadlock while connecting: rank " +
                                std::to_string(rank->number) +
                                " waits for rank " + std::to_string(peer));
  if (!stuck || stuck->groups.empty())
    return;
  bool isAlone = false; // the peer it waits for has left
  for (const Transfer &transfer : stuck->groups.front().transfers)
    isAlone =
        isAlone || (!transfer.isDone && world.ranks[transfer.peer]->isGone);
  blame(world, isAlone ? "unmatched: rank " + std::to_string(stuck->number) +
                             " waits for a rank that has left"
                       : "deadlock: all ranks wait");
}

void etc::test::submit(Rank &rank, Group group) {
  if (group.transfers.empty())
    return;
  Handshake handshake(rank.number, rank.world->size);
  for (const Transfer &transfer : group.transfers)
    if (!rank.connected.count({transfer.isSend, transfer.peer})) {
      if (transfer.isSend)
        handshake.sendTo(transfer.peer);
      else
        handshake.receiveFrom(transfer.peer);
    }
  rank.launching = std::move(group);
  rank.isWaiting = false;
  if (handshake.isEmpty()) {
    launch(rank);
  } else {
    // Non-blocking: a thread of NCCL's connects, and then launches.
    rank.state = kInProgress;
    rank.handshake.emplace(handshake);
    ++handshakes();
  }
  progress(*rank.world);
}

void etc::test::onStreamWait(DoubleStream *stream) {
  for (auto &[id, world] : worlds())
    for (auto &rank : world->ranks)
      if (rank && !rank->groups.empty() &&
          rank->groups.front().stream == stream && !rank->isWaiting) {
        rank->isWaiting = true;
        findDeadlock(*world);
      }
}

bool etc::test::isUnderTransfer(const void *data, size_t bytes) {
  const Range range{static_cast<const std::byte *>(data), bytes};
  for (auto &[id, world] : worlds())
    for (auto &rank : world->ranks)
      for (size_t i = 0; rank && i != rank->groups.size(); ++i)
        for (const Transfer &transfer : rank->groups[i].transfers)
          if (!transfer.isDone && range.meets({transfer.data, transfer.bytes}))
            return true;
  return false;
}
