// The double of NCCL: communicators among threads and processes. It connects
// peers as NCCL does, and reports what NCCL lets pass: sends and receives of
// different lengths, in another order, without a partner, of memory that is
// registered at one end; groups that wait for each other; and calls that come
// too early. Read in NCCL 2.30.7.

#include "CallLog.h"
#include "CudaTypes.h"
#include "GpuDouble.h"
#include "NcclGroup.h"

#include <algorithm>
#include <bit>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string_view>
#include <utility>

using namespace etc::test;

namespace {

/// ncclConfig_t of 2.28 (nccl.h).
struct Config {
  size_t size;
  unsigned magic, version;
  int blocking, cgaClusterSize, minCtas, maxCtas;
  const char *netName;
  int splitShare, trafficClass;
  const char *commName;
  int collnetEnable, ctaPolicy, shrinkShare, nvlsCtas, channelsPerNetPeer,
      nvlinkCentricSched;
};
struct UniqueId {
  char internal[128];
};

Config lastConfig;
thread_local int groupDepth = 0;
thread_local int groupError = NcclSuccess;

struct OpenGroup {
  StreamHandle stream = nullptr;
  std::vector<Transfer> transfers;
};
thread_local std::map<Communicator *, OpenGroup> openGroups;

int chosenVersion() {
  const char *chosen = std::getenv("ETC_DOUBLE_NCCL_VERSION");
  return chosen ? std::atoi(chosen) : 22809;
}

/// sizeof(ncclConfig_t) in nccl.h of each.
size_t configBytes(int version) {
  return version >= 22800 ? 80 : version >= 22700 ? 72 : 48;
}

int noteError(int code) {
  if (groupDepth > 0 && groupError == NcclSuccess)
    groupError = code;
  return code;
}

/// What NCCL says to a call on a communicator (ncclCommEnsureReady in
/// src/init.cc): one that still works on an earlier call takes no other.
int checkReady(Communicator &comm) {
  if (comm.isGone)
    return recordFault("a call on a communicator that is gone"),
           NcclInvalidUsage;
  if (comm.state().code == NcclInProgress)
    return recordFault("a call on a communicator that is busy"),
           NcclInvalidArgument;
  if (comm.caller != std::thread::id() &&
      comm.caller != std::this_thread::get_id())
    return recordFault("a communicator refers to memory of another thread, "
                       "which made the last call"),
           NcclInternalError;
  comm.caller = {};
  return comm.state().code;
}

/// What a call leaves to another thread is in memory of its own thread, until
/// the next call for the communicator (ncclGroupEndInternal in src/group.cc and
/// ncclCommEnsureReady in src/init.cc, up to 2.26).
void noteCaller(Communicator &comm) {
  if (chosenVersion() < 22700)
    comm.caller = std::this_thread::get_id();
}

/// A stream of the communicator's device; its memory is what a kernel there can
/// use.
int checkPlace(Communicator &comm, const Transfer &transfer,
               StreamHandle stream) {
  if (!Schedule::get().find(stream, comm.device))
    return recordFault("a transfer on a stream of another device, or of none"),
           NcclInvalidArgument;
  const int device = DeviceMemory::get().deviceOf(transfer.memory.data);
  if (transfer.memory.bytes > 0 && device != comm.device)
    return recordFault("a transfer of memory that is not its device's"),
           NcclInvalidArgument;
  return NcclSuccess;
}

void launch(Communicator &comm, OpenGroup group) {
  comm.state().code = NcclInProgress;
  noteCaller(comm);
  comm.world->note(comm.rank);
  StreamHandle stream = Schedule::get().find(group.stream, comm.device);
  writeLog("group", std::to_string(group.transfers.size()) + " transfers");
  Schedule::get().addTask(std::make_shared<GroupTask>(
      comm,
      std::make_shared<GroupWork>(comm, stream, std::move(group.transfers))));
}

/// Whole groups are on one stream here.
int add(Communicator &comm, Transfer transfer, StreamHandle stream) {
  SharedLock lock;
  if (int code = checkReady(comm); code != NcclSuccess)
    return noteError(code);
  if (transfer.peer < 0 || transfer.peer >= comm.world->size)
    return noteError(NcclInvalidUsage);
  if (int code = checkPlace(comm, transfer, stream); code != NcclSuccess)
    return noteError(code);
  OpenGroup &group = openGroups[&comm];
  group.stream = stream;
  transfer.isDone = transfer.memory.bytes == 0; // NCCL leaves it out
  group.transfers.push_back(transfer);
  if (groupDepth == 0) {
    launch(comm, std::move(group));
    openGroups.erase(&comm);
    return NcclInProgress;
  }
  return NcclSuccess;
}

/// Communicators of this process.
std::vector<Communicator *> &communicators() {
  static auto *all = new std::vector<Communicator *>;
  return *all;
}

void countLook(Communicator &comm) {
  RankState &state = comm.state();
  if (state.seen != comm.world->changes)
    state.looks = 0;
  state.seen = comm.world->changes;
  ++state.looks;
  findDeadlock(*comm.world);
}

/// A host has looked at a stream, and found work.
void onLook(StreamHandle stream) {
  SharedLock lock;
  for (Communicator *comm : communicators())
    if (!comm->isGone && !comm->groups.empty() &&
        comm->groups.front()->on() == stream)
      countLook(*comm);
}

/// Waits for the groups that are under way (ncclCommFinalize in src/init.cc).
class FinalizeTask final : public Work {
public:
  explicit FinalizeTask(Communicator &comm) : comm(comm) {}
  Step step(Random &) override {
    SharedLock lock;
    if (comm.isGone)
      return Step::Done;
    if (!comm.groups.empty())
      return Step::Waiting;
    comm.state().code = NcclSuccess;
    return Step::Done;
  }

private:
  Communicator &comm;
};

void join(Communicator &comm) {
  World &world = *comm.world;
  RankState &state = comm.state();
  state = {};
  state.place = RankState::Joined;
  state.process = Segment::get().self();
  state.device = comm.device;
  const char *host = std::getenv("NCCL_HOSTID");
  state.host = std::hash<std::string_view>()(host ? host : "");
  noteGpu(state, chosenVersion());
  state.code = NcclInProgress;
  state.awaited = -1;
  if (++world.joined == world.size) {
    world.sharesGpu = sharesGpu(world);
    const int code = world.sharesGpu ? NcclInvalidUsage : NcclSuccess;
    for (int rank = 0; rank != world.size; ++rank)
      world.ranks[rank].code = code;
  }
  ++world.changes;
  communicators().push_back(&comm);
}

int leave(Communicator &comm, bool isOrderly) {
  {
    SharedLock lock;
    if (comm.isGone)
      return recordFault("a communicator is destroyed twice"), NcclInvalidUsage;
    if (isOrderly)
      checkReady(comm);
    if (isOrderly && !comm.groups.empty())
      recordFault("unmatched: rank " + std::to_string(comm.rank) +
                  " leaves with a group under way");
    comm.isGone = true;
    RankState &state = comm.state();
    state.place = RankState::Gone;
    state.hasLeftInOrder = isOrderly;
    comm.world->note(comm.rank);
    std::erase(communicators(), &comm);
  }
  logCall("release", isOrderly ? "ncclCommDestroy" : "ncclCommAbort",
          comm.device);
  Segment::get().notify();
  // "Even if local comm aborts, we cannot let proxy thread exit if we still
  // have peer connections. Need to wait until all other related comms call
  // abort": ncclProxyService in src/proxy.cc, whose thread commFree
  // (src/init.cc) joins, in an abort as in a destroy. Its connections are those
  // of ranks of its node.
  while (true) {
    const uint32_t seen = Segment::get().changes();
    {
      SharedLock lock;
      if (!hasPeers(*comm.world, comm.rank)) {
        freeIfLeft(*comm.world);
        return NcclSuccess;
      }
    }
    Segment::get().waitForChange(seen, 5000);
  }
}

} // namespace

extern "C" {

// As ncclTopoGetNchannels, ncclTopoComputeP2pChannelsPerPeer and
// ncclTopoComputeP2pChannels of 2.30.7 (src/graph/paths.cc) count them.
unsigned etcDoubleChannelsAPair() {
  SharedLock lock;
  constexpr unsigned ranks = 64, batch = 8; // NCCL_MAX_DEV_WORK_P2P_PER_BATCH
  constexpr unsigned nvlink = 2 * 18;       // twice the links of a GPU
  constexpr unsigned port = (50 + 13) / 14; // GB/s, 14 a channel
  const bool isChosen = configBytes(chosenVersion()) >= sizeof(Config) &&
                        lastConfig.channelsPerNetPeer > 0;
  const unsigned across = isChosen ? lastConfig.channelsPerNetPeer : port;
  const unsigned all = std::bit_ceil(
      lastConfig.maxCtas > 0 ? static_cast<unsigned>(lastConfig.maxCtas) : 32u);
  unsigned pair = std::bit_ceil(std::min(nvlink, across));
  if (isChosen)
    return std::min(pair, all);
  while (pair * (ranks / batch) > all && pair > 1)
    pair /= 2;
  return pair;
}

unsigned etcDoubleHandshakes() {
  SharedLock lock;
  return handshakes();
}

unsigned etcDoubleOpenGroups() { return groupDepth; }
int ncclGetVersion(int *version) {
  return *version = chosenVersion(), NcclSuccess;
}
const char *ncclGetErrorString(int code) {
  return code == NcclInternalError ? "internal error"
         : code == NcclRemoteError ? "remote process exited or there was a "
                                     "network error"
                                   : "invalid usage";
}
const char *ncclGetLastError(Communicator *comm) {
  return comm && comm->world->sharesGpu
             ? "Multiple Ranks are using the same GPU/Partition. Set "
               "NCCL_MULTI_RANK_GPU_ENABLE=1 to enable this configuration."
             : "";
}

int ncclGetUniqueId(UniqueId *id) {
  SharedLock lock;
  *id = {};
  const std::string name =
      "double " + std::to_string(++Segment::get().header().nextId);
  std::memcpy(id->internal, name.data(), name.size());
  return NcclSuccess;
}

int ncclCommInitRankConfig(Communicator **comm, int size, UniqueId id,
                           int number, Config *config) {
  logCall("create", "ncclCommInitRankConfig");
  SharedLock lock;
  if (config->magic != 0xcafebeef || config->blocking != 0)
    return recordFault("a communicator of another kind"), NcclInvalidUsage;
  // NCCL cuts what is too long; nobody should rely on it.
  if (config->size > configBytes(chosenVersion()) ||
      config->version > static_cast<unsigned>(chosenVersion()))
    return recordFault("a config with fields of a later version"),
           NcclInvalidArgument;
  std::memcpy(static_cast<void *>(&lastConfig), config, config->size);
  World *world = findWorld(id.internal, size);
  if (!world || size > static_cast<int>(kMaxRanks) || world->size != size ||
      number < 0 || number >= size ||
      world->ranks[number].place != RankState::Absent)
    return recordFault("a rank joins twice, or another world"),
           NcclInvalidUsage;
  // It takes the device of the thread (cudaGetDevice in
  // ncclCommInitRankConfig).
  if (currentDevice() < 0)
    return recordFault("a communicator of a thread without a context"),
           NcclUnhandledCudaError;
  Schedule::get().onLook = onLook;
  *comm = new Communicator; // never freed: work may point to it
  (*comm)->world = world;
  (*comm)->rank = number;
  (*comm)->device = currentDevice();
  join(**comm);
  noteCaller(**comm);
  return NcclInProgress;
}

int ncclCommGetAsyncError(Communicator *comm, int *state) {
  SharedLock lock;
  if (comm->isGone)
    return recordFault("a call on a communicator that is gone"),
           NcclInvalidUsage;
  if (comm->state().isConnecting)
    countLook(*comm);
  return *state = comm->state().code, NcclSuccess;
}

int ncclCommCount(Communicator *comm, int *count) {
  SharedLock lock;
  const int code = checkReady(*comm);
  *count = comm->world->size;
  return code;
}

int ncclCommAbort(Communicator *comm) { return leave(*comm, false); }
int ncclCommDestroy(Communicator *comm) { return leave(*comm, true); }
int ncclCommFinalize(Communicator *comm) {
  SharedLock lock;
  if (int code = checkReady(*comm); code != NcclSuccess)
    return code;
  comm->state().code = NcclInProgress;
  noteCaller(*comm);
  Schedule::get().addTask(std::make_shared<FinalizeTask>(*comm));
  return NcclInProgress;
}

int ncclGroupStart() { return ++groupDepth, NcclSuccess; }
/// Nothing of a group is launched where one call of it failed
/// (ncclGroupEndInternal in src/group.cc). All else goes on on another thread.
int ncclGroupEnd() {
  if (groupDepth == 0)
    return fault("a group ends that was not begun"), NcclInvalidUsage;
  if (--groupDepth > 0)
    return NcclSuccess;
  SharedLock lock;
  const int code = std::exchange(groupError, int{NcclSuccess});
  const bool isEmpty = openGroups.empty();
  if (code == NcclSuccess)
    for (auto &[comm, group] : openGroups)
      launch(*comm, std::move(group));
  openGroups.clear();
  return code != NcclSuccess ? code : isEmpty ? NcclSuccess : NcclInProgress;
}

int ncclSend(const void *data, size_t bytes, int, int peer, Communicator *comm,
             StreamHandle stream) {
  return add(*comm, {true, peer, {reinterpret_cast<Address>(data), bytes}},
             stream);
}
int ncclRecv(void *data, size_t bytes, int, int peer, Communicator *comm,
             StreamHandle stream) {
  return add(*comm, {false, peer, {reinterpret_cast<Address>(data), bytes}},
             stream);
}
int ncclCommRegister(Communicator *comm, void *data, size_t bytes,
                     void **handle) {
  logCall("register", "ncclCommRegister", comm->device);
  SharedLock lock;
  comm->registered.push_back({reinterpret_cast<Address>(data), bytes});
  return *handle = data, NcclSuccess;
}
int ncclCommDeregister(Communicator *comm, void *handle) {
  SharedLock lock;
  std::erase_if(comm->registered, [&](const Range &range) {
    return range.data == reinterpret_cast<Address>(handle);
  });
  return NcclSuccess;
}

} // extern "C"
