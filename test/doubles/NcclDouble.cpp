// NCCL's half of the test double: communicators among the threads of one
// process. It connects peers as NCCL does, and reports what NCCL lets pass:
// sends and receives of different lengths, in another order, without a partner,
// of memory that is registered at one end; groups that wait for each other; and
// calls that come too early.

#include "NcclWorld.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

using namespace etc::runtime::nccl;
using namespace etc::test;
namespace cuda = etc::runtime::cuda;

namespace {

Config lastConfig;
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

extern "C" {

// As ncclTopoGetNchannels, ncclTopoComputeP2pChannelsPerPeer and
// ncclTopoComputeP2pChannels of 2.30.7 (src/graph/paths.cc) count them.
unsigned etcDoubleChannelsAPair() {
  std::lock_guard lock(doubleState().mutex);
  constexpr unsigned ranks = 64, batch = 8; // NCCL_MAX_DEV_WORK_P2P_PER_BATCH
  constexpr unsigned nvlink = 2 * 18;       // twice the links of a GPU
  constexpr unsigned port = (50 + 13) / 14; // GB/s, 14 a channel
  const bool isChosen = configBytes(chosenVersion()) >= sizeof(Config) &&
                        lastConfig.nChannelsPerNetPeer > 0;
  const unsigned across = isChosen ? lastConfig.nChannelsPerNetPeer : port;
  const unsigned all = std::bit_ceil(
      lastConfig.maxCTAs > 0 ? static_cast<unsigned>(lastConfig.maxCTAs) : 32u);
  unsigned pair = std::bit_ceil(std::min(nvlink, across));
  if (isChosen)
    return std::min(pair, all);
  while (pair * (ranks / batch) > all && pair > 1)
    pair /= 2;
  return pair;
}

unsigned etcDoubleHandshakes() {
  std::lock_guard lock(doubleState().mutex);
  return handshakes();
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
  std::memcpy(static_cast<void *>(&lastConfig), config, config->size);
  auto &world = worlds()[id.internal];
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

/// Whether a rank still has connections to this one's proxy, or it to theirs.
static bool hasPeers(const Rank &rank) {
  for (const auto &other : rank.world->ranks) {
    if (!other || other.get() == &rank || other->isGone)
      continue;
    for (bool isSend : {false, true})
      if (rank.connected.count({isSend, other->number}) ||
          other->connected.count({isSend, rank.number}))
        return true;
  }
  return false;
}

static Code leave(Communicator comm, bool isOrderly) {
  std::unique_lock lock(doubleState().mutex);
  Rank &rank = *known(comm);
  if (rank.isGone)
    return recordFault("a communicator is destroyed twice"), kInvalidUsage;
  if (isOrderly && !rank.groups.empty())
    recordFault("unmatched: rank " + std::to_string(rank.number) +
                " leaves with a group under way");
  for (Group &group : rank.groups)
    group.stream->finishTransfer();
  rank.groups.clear();
  rank.handshake.reset();
  rank.isGone = true;
  // Who waits already does not look again.
  if (isOrderly)
    findDeadlock(*rank.world);
  doubleState().changed.notify_all();
  // "Even if local comm aborts, we cannot let proxy thread exit if we still
  // have peer connections. Need to wait until all other related comms call
  // abort": ncclProxyService in src/proxy.cc, whose thread commFree
  // (src/init.cc) joins, in an abort as in a destroy. All ranks of the double
  // are of one node.
  doubleState().changed.wait(lock, [&] { return !hasPeers(rank); });
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
