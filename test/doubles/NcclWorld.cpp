#include "NcclWorld.h"

#include "CudaTypes.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace etc::test;

// Of the driver.
extern "C" int cuDeviceGetPCIBusId(char *id, int size, Device number);
extern "C" int cuDeviceGetUuid(CudaUuid *uuid, Device number);

namespace {

constexpr size_t kChunksBytes =
    sizeof(Chunk) * kSteps * size_t{kMaxRanks} * kMaxRanks;
constexpr size_t kSlotBytes =
    (sizeof(World) + kChunksBytes + 4095) / 4096 * 4096;
static_assert(kSlotBytes * kMaxWorlds <= Segment::kWorldBytes);

/// A host that has looked so often since anything happened does nothing else.
constexpr uint32_t kManyLooks = 50;

World &worldAt(unsigned slot) {
  return *reinterpret_cast<World *>(Segment::get().worlds() +
                                    slot * kSlotBytes);
}

} // namespace

Chunk *World::chunks(int from, int to) {
  auto *first = reinterpret_cast<Chunk *>(reinterpret_cast<std::byte *>(this) +
                                          (sizeof(World) + 63) / 64 * 64);
  return first + (size_t(from) * kMaxRanks + size_t(to)) * kSteps;
}

World *etc::test::findWorld(const char *id, int size) {
  World *unused = nullptr;
  for (unsigned slot = 0; slot != kMaxWorlds; ++slot) {
    World &world = worldAt(slot);
    if (world.isUsed && std::memcmp(world.id, id, sizeof world.id) == 0)
      return &world;
    if (!world.isUsed && !unused)
      unused = &world;
  }
  if (!unused)
    return nullptr;
  std::memset(static_cast<void *>(unused), 0, sizeof *unused);
  unused->isUsed = true;
  std::memcpy(unused->id, id, sizeof unused->id);
  unused->size = size;
  // What fits the buffers between two ranks depends on transport and protocol,
  // and with registered memory nothing does: a send that ends before it is
  // received is as legal as one that does not.
  unused->depth = Schedule::get().isPlain()
                      ? 0
                      : static_cast<unsigned>(Schedule::get().number() % 5);
  return unused;
}

void etc::test::freeIfLeft(World &world) {
  if (world.joined != world.size)
    return;
  for (int rank = 0; rank != world.size; ++rank)
    if (world.isAlive(rank))
      return;
  world.isUsed = false;
}

/// The bus, from 2.30.7 on the UUID (initTransportsRank in src/init.cc, before
/// also ncclCheckMultiRank in src/graph/topo.cc). As built for CUDA 13, which
/// asks for it by the function of CUDA 9.2 (LOAD_SYM in src/misc/cudawrap.cc).
void etc::test::noteGpu(RankState &rank, int version) {
  CudaUuid uuid{};
  char bus[sizeof rank.gpu] = {};
  cuDeviceGetPCIBusId(bus, sizeof bus, rank.device);
  cuDeviceGetUuid(&uuid, rank.device);
  static_assert(sizeof uuid == sizeof rank.gpu);
  std::memcpy(rank.gpu, version >= 23007 ? static_cast<void *>(&uuid) : bus,
              sizeof rank.gpu);
  const char *asked = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  rank.mayShare = version >= 23000 && asked && std::atoi(asked) != 0;
}

bool etc::test::sharesGpu(const World &world) {
  const auto end = world.ranks + world.size;
  if (std::all_of(world.ranks, end, [](auto &rank) { return rank.mayShare; }))
    return false;
  for (int a = 0; a != world.size; ++a)
    for (int b = 0; b != a; ++b)
      if (std::memcmp(world.ranks[a].gpu, world.ranks[b].gpu,
                      sizeof world.ranks[a].gpu) == 0 &&
          world.ranks[a].host == world.ranks[b].host) {
        recordFault("ranks " + std::to_string(b) + " and " + std::to_string(a) +
                    " are both on GPU " + std::string(world.ranks[a].gpu));
        return true;
      }
  return false;
}

void etc::test::blame(World &world, const std::string &what) {
  recordFault(what);
  for (int rank = 0; rank != world.size; ++rank)
    if (world.ranks[rank].place == RankState::Joined)
      world.ranks[rank].code = NcclInternalError;
  ++world.changes;
}

bool etc::test::hasPeers(World &world, int rank) {
  for (int other = 0; other != world.size; ++other) {
    const Connection &out = world.connections[rank][other];
    const Connection &in = world.connections[other][rank];
    const bool isConnected = out.isSendMade || out.isReceiveMade ||
                             in.isSendMade || in.isReceiveMade;
    const bool isOfNode = world.ranks[other].host == world.ranks[rank].host;
    if (other != rank && isConnected && isOfNode && world.isAlive(other))
      return true;
  }
  return false;
}

static bool isStuck(const World &world, const RankState &rank) {
  if (!rank.isExecuting && !rank.isConnecting)
    return false;
  if ((rank.isExecuting && rank.groupTried != world.changes) ||
      (rank.isConnecting && rank.connectTried != world.changes))
    return false;
  return rank.seen == world.changes && rank.looks >= kManyLooks;
}

void etc::test::findDeadlock(World &world) {
  int stuck = -1;
  bool hasAborted = false, hasLeft = false;
  for (int rank = 0; rank != world.size; ++rank) {
    const RankState &state = world.ranks[rank];
    if (!world.isAlive(rank)) {
      hasLeft = hasLeft || state.hasLeftInOrder;
      hasAborted = hasAborted || !state.hasLeftInOrder;
      continue;
    }
    if (!isStuck(world, state))
      return;
    stuck = rank;
  }
  // Who waits for one that has aborted, or died, has to find out by other ways.
  if (stuck < 0 || hasAborted)
    return;
  for (int rank = 0; rank != world.size; ++rank)
    if (const RankState &state = world.ranks[rank]; state.isConnecting)
      return blame(world, "deadlock while connecting: rank " +
                              std::to_string(rank) + " waits for rank " +
                              std::to_string(state.awaited));

  blame(world, hasLeft ? "unmatched: rank " + std::to_string(stuck) +
                             " waits for a rank that has left"
                       : "deadlock: all ranks wait");
}

Connection::Letter *SharedBootstrap::find(Key key) {
  for (Connection::Letter &letter : world.connections[key.from][key.to].letters)
    if (letter.isFull && letter.stage == key.stage &&
        letter.distance == key.distance)
      return &letter;
  return nullptr;
}

/// A letter that nobody takes is of a peer that is gone, or of a misuse.
void SharedBootstrap::send(Key key, uint8_t ends) {
  for (Connection::Letter &letter : world.connections[key.from][key.to].letters)
    if (!letter.isFull) {
      letter = {true, key.stage, key.distance, ends};
      return;
    }
  recordFault("a rank connects again and again to one that does not");
}

uint8_t SharedBootstrap::receive(Key key) {
  Connection::Letter *letter = find(key);
  letter->isFull = false;
  return letter->ends;
}
