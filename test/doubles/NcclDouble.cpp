// NCCL's half of the test double: communicators among the threads of one
// process. It reports what NCCL lets pass: sends and receives of different
// lengths, in another order, without a partner, and groups that wait for each
// other.

#include "GpuDouble.h"

#include "transport/NcclLibrary.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <vector>

using namespace etc::runtime::nccl;
using namespace etc::test;
namespace cuda = etc::runtime::cuda;

namespace {

constexpr Code kInternalError = 3, kInvalidUsage = 5;

struct Transfer {
  bool isSend;
  int peer;
  std::byte *data;
  size_t bytes;
  bool isDone = false;
};

struct Group {
  std::vector<Transfer> transfers;
  DoubleStream *stream = nullptr;
};

struct World;

/// One rank's communicator. Groups are done one after the other.
struct Rank {
  World *world;
  int number;
  std::deque<Group> groups;
  Code state = kInProgress;
  bool isWaiting = false; // it has looked at its stream since the last change
  bool isGone = false;
};

struct World {
  int size = 0;
  std::vector<std::unique_ptr<Rank>> ranks;
  int joined = 0;
};

std::map<std::string, std::unique_ptr<World>> worlds;
thread_local int groupDepth = 0;
thread_local std::map<Rank *, Group> openGroups;

Rank *known(Communicator comm) { return reinterpret_cast<Rank *>(comm); }

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
    --rank.groups.front().stream->pending;
    rank.groups.pop_front();
    any = true;
  }
  return any;
}

void progress(World &world) {
  for (bool any = true; any;) {
    any = false;
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

/// Nobody can go on: all wait for transfers, or have left.
void findDeadlock(World &world) {
  const Rank *stuck = nullptr;
  for (auto &rank : world.ranks) {
    if (!rank || (!rank->isGone && !rank->isWaiting))
      return;
    if (!rank->isGone)
      stuck = rank.get();
  }
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

void submit(Rank &rank, Group group) {
  if (group.transfers.empty())
    return;
  ++group.stream->pending;
  rank.groups.push_back(std::move(group));
  rank.isWaiting = false;
  progress(*rank.world);
}

Code add(Communicator comm, Transfer transfer, cuda::Stream stream) {
  std::lock_guard lock(doubleState().mutex);
  Rank &rank = *known(comm);
  if (transfer.peer < 0 || transfer.peer >= rank.world->size)
    return kInvalidUsage;
  Group &group = openGroups[&rank];
  group.stream = reinterpret_cast<DoubleStream *>(stream);
  group.transfers.push_back(transfer);
  if (groupDepth == 0) {
    submit(rank, std::move(group));
    openGroups.erase(&rank);
  }
  return kSuccess;
}

} // namespace

void etc::test::onStreamWait(DoubleStream *stream) {
  for (auto &[id, world] : worlds)
    for (auto &rank : world->ranks)
      if (rank && !rank->groups.empty() &&
          rank->groups.front().stream == stream && !rank->isWaiting) {
        rank->isWaiting = true;
        findDeadlock(*world);
      }
}

extern "C" {

Code ncclGetVersion(int *version) {
  const char *chosen = std::getenv("ETC_DOUBLE_NCCL_VERSION");
  *version = chosen ? std::atoi(chosen) : 22809;
  return kSuccess;
}
const char *ncclGetErrorString(Code code) {
  return code == kInternalError ? "internal error" : "invalid usage";
}
const char *ncclGetLastError(Communicator) { return ""; }

Code ncclGetUniqueId(UniqueId *id) {
  static unsigned next = 0;
  std::lock_guard lock(doubleState().mutex);
  *id = {};
  std::string name = "double " + std::to_string(++next);
  std::memcpy(id->internal, name.data(), name.size());
  return kSuccess;
}

Code ncclCommInitRankConfig(Communicator *comm, int size, UniqueId id,
                            int number, Config *config) {
  std::lock_guard lock(doubleState().mutex);
  if (config->size != sizeof(Config) || config->blocking != 0)
    return recordFault("a communicator of another kind"), kInvalidUsage;
  auto &world = worlds[id.internal];
  if (!world) {
    world = std::make_unique<World>();
    world->size = size;
    world->ranks.resize(size);
  }
  if (world->size != size || number >= size || world->ranks[number])
    return recordFault("a rank joins twice, or another world"), kInvalidUsage;
  world->ranks[number] = std::make_unique<Rank>();
  *world->ranks[number] = {world.get(), number, {}, kInProgress, false, false};
  *comm = reinterpret_cast<Communicator>(world->ranks[number].get());
  if (++world->joined == size)
    for (auto &rank : world->ranks)
      rank->state = kSuccess;
  return kInProgress;
}

Code ncclCommGetAsyncError(Communicator comm, Code *state) {
  std::lock_guard lock(doubleState().mutex);
  return *state = known(comm)->state, kSuccess;
}

static Code leave(Communicator comm, bool isOrderly) {
  std::lock_guard lock(doubleState().mutex);
  Rank &rank = *known(comm);
  if (rank.isGone)
    return recordFault("a communicator is destroyed twice"), kInvalidUsage;
  if (isOrderly && !rank.groups.empty())
    recordFault("unmatched: rank " + std::to_string(rank.number) +
                " leaves with a group under way");
  for (Group &group : rank.groups)
    --group.stream->pending;
  rank.groups.clear();
  rank.isGone = true;
  // Who waits already does not look again.
  if (isOrderly)
    findDeadlock(*rank.world);
  doubleState().changed.notify_all();
  return kSuccess;
}
Code ncclCommAbort(Communicator comm) { return leave(comm, false); }
Code ncclCommDestroy(Communicator comm) { return leave(comm, true); }
Code ncclCommFinalize(Communicator) { return kSuccess; }

Code ncclGroupStart() { return ++groupDepth, kSuccess; }
Code ncclGroupEnd() {
  if (--groupDepth > 0)
    return kSuccess;
  std::lock_guard lock(doubleState().mutex);
  for (auto &[rank, group] : openGroups)
    submit(*rank, std::move(group));
  openGroups.clear();
  return kInProgress; // as NCCL does where connections are made
}

Code ncclSend(const void *data, size_t bytes, int, int peer, Communicator comm,
              cuda::Stream stream) {
  auto *from = static_cast<std::byte *>(const_cast<void *>(data));
  return add(comm, {true, peer, from, bytes}, stream);
}
Code ncclRecv(void *data, size_t bytes, int, int peer, Communicator comm,
              cuda::Stream stream) {
  return add(comm, {false, peer, static_cast<std::byte *>(data), bytes},
             stream);
}
Code ncclCommRegister(Communicator, void *data, size_t, void **handle) {
  return *handle = data, kSuccess;
}
Code ncclCommDeregister(Communicator, void *) { return kSuccess; }

} // extern "C"
