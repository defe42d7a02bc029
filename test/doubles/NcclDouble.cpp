// NCCL's half of the test double: communicators among the threads of one
// process. It connects peers as NCCL does, and reports what NCCL lets pass:
// sends and receives of different lengths, in another order, without a partner,
// of memory that is registered at one end; groups that wait for each other; and
// calls that come too early.

#include "GpuDouble.h"
#include "NcclHandshake.h"

#include "transport/NcclLibrary.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <vector>

using namespace etc::runtime::nccl;
using namespace etc::test;
namespace cuda = etc::runtime::cuda;

namespace {

constexpr Code kUnhandledCudaError = 1, kInternalError = 3,
               kInvalidArgument = 4, kInvalidUsage = 5;

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

/// A range of memory.
struct Range {
  const std::byte *data;
  size_t bytes;

  bool holds(const Range &other) const {
    return other.data >= data && other.data + other.bytes <= data + bytes;
  }
  bool meets(const Range &other) const {
    return other.data < data + bytes && data < other.data + other.bytes;
  }
};

/// One rank's communicator. Groups are done one after the other.
struct Rank {
  World *world;
  int number;
  std::deque<Group> groups;
  std::set<std::pair<bool, int>> connected; // whether to send, and to whom
  std::optional<Handshake> handshake;       // before `launching` starts
  Group launching;
  std::vector<Range> registered;
  Code state = kInProgress;
  bool isWaiting = false; // it has looked at its stream since the last change
  bool isGone = false;
};

struct World {
  int size = 0;
  std::vector<std::unique_ptr<Rank>> ranks;
  int joined = 0;
  Bootstrap bootstrap;
};

std::map<std::string, std::unique_ptr<World>> worlds;
unsigned handshakes = 0;
thread_local int groupDepth = 0;
thread_local std::map<Rank *, Group> openGroups;

int chosenVersion() {
  const char *chosen = std::getenv("ETC_DOUBLE_NCCL_VERSION");
  return chosen ? std::atoi(chosen) : 22809;
}

/// sizeof(ncclConfig_t) in nccl.h of each.
size_t configBytes(int version) {
  return version >= 22800 ? 80 : version >= 22700 ? 72 : 48;
}

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
    --rank.groups.front().stream->pending;
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

/// Nobody can go on: all wait for transfers, or have left.
void findDeadlock(World &world) {
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

void submit(Rank &rank, Group group) {
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
    ++handshakes;
  }
  progress(*rank.world);
}

/// What NCCL says to a call on a communicator (ncclCommEnsureReady in
/// src/init.cc): one that still works on an earlier call takes no other.
Code checkReady(const Rank &rank) {
  if (rank.isGone)
    return recordFault("a call on a communicator that is gone"), kInvalidUsage;
  if (rank.state == kInProgress)
    return recordFault("a call on a communicator that is busy"),
           kInvalidArgument;
  return rank.state;
}

Code add(Communicator comm, Transfer transfer, cuda::Stream stream) {
  std::lock_guard lock(doubleState().mutex);
  Rank &rank = *known(comm);
  if (Code code = checkReady(rank); code != kSuccess)
    return code;
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

bool etc::test::isUnderTransfer(const void *data, size_t bytes) {
  const Range range{static_cast<const std::byte *>(data), bytes};
  for (auto &[id, world] : worlds)
    for (auto &rank : world->ranks)
      for (size_t i = 0; rank && i != rank->groups.size(); ++i)
        for (const Transfer &transfer : rank->groups[i].transfers)
          if (!transfer.isDone && range.meets({transfer.data, transfer.bytes}))
            return true;
  return false;
}

extern "C" {

unsigned etcDoubleHandshakes() {
  std::lock_guard lock(doubleState().mutex);
  return handshakes;
}

Code ncclGetVersion(int *version) {
  return *version = chosenVersion(), kSuccess;
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
  if (config->magic != 0xcafebeef || config->blocking != 0)
    return recordFault("a communicator of another kind"), kInvalidUsage;
  // NCCL cuts what is too long; nobody should rely on it.
  if (config->size > configBytes(chosenVersion()) ||
      config->version > static_cast<unsigned>(chosenVersion()))
    return recordFault("a config with fields of a later version"),
           kInvalidArgument;
  auto &world = worlds[id.internal];
  if (!world) {
    world = std::make_unique<World>();
    world->size = size;
    world->ranks.resize(size);
  }
  if (world->size != size || number >= size || world->ranks[number])
    return recordFault("a rank joins twice, or another world"), kInvalidUsage;
  // It takes the device of the thread (cudaGetDevice in
  // ncclCommInitRankConfig).
  if (doubleDevice() < 0)
    return recordFault("a communicator of a thread without a context"),
           kUnhandledCudaError;
  world->ranks[number] = std::make_unique<Rank>();
  world->ranks[number]->world = world.get();
  world->ranks[number]->number = number;
  *comm = reinterpret_cast<Communicator>(world->ranks[number].get());
  if (++world->joined == size)
    for (auto &rank : world->ranks)
      rank->state = kSuccess;
  return kInProgress;
}

Code ncclCommGetAsyncError(Communicator comm, Code *state) {
  std::lock_guard lock(doubleState().mutex);
  Rank &rank = *known(comm);
  if (rank.handshake && !rank.isWaiting) {
    rank.isWaiting = true;
    findDeadlock(*rank.world);
  }
  return *state = rank.state, kSuccess;
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
  rank.handshake.reset();
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
Code ncclCommRegister(Communicator comm, void *data, size_t bytes,
                      void **handle) {
  std::lock_guard lock(doubleState().mutex);
  known(comm)->registered.push_back({static_cast<std::byte *>(data), bytes});
  return *handle = data, kSuccess;
}
Code ncclCommDeregister(Communicator comm, void *handle) {
  std::lock_guard lock(doubleState().mutex);
  std::erase_if(known(comm)->registered,
                [&](const Range &range) { return range.data == handle; });
  return kSuccess;
}

} // extern "C"
