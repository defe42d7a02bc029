// What the ranks of a communicator share, in the segment of all processes.

#ifndef ETC_TEST_NCCLWORLD_H
#define ETC_TEST_NCCLWORLD_H

#include "NcclHandshake.h"
#include "Segment.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace etc::test {

/// ncclResult_t (nccl.h).
enum NcclResult : int {
  NcclSuccess = 0,
  NcclUnhandledCudaError = 1,
  NcclSystemError = 2,
  NcclInternalError = 3,
  NcclInvalidArgument = 4,
  NcclInvalidUsage = 5,
  NcclRemoteError = 6,
  NcclInProgress = 7,
};

constexpr unsigned kMaxRanks = 64, kMaxWorlds = 64;
/// Pieces of a connection that are on their way at once (NCCL_STEPS in
/// src/include/device.h), and how large they are at most.
constexpr unsigned kSteps = 8;
constexpr size_t kChunkBytes = 32 << 10;

/// A piece of a message on its way. NCCL tells the receiver nothing of the
/// message; the double does, to compare.
struct Chunk {
  uint64_t messageBytes;
  uint32_t bytes;
  bool isRegistered;
  std::byte data[kChunkBytes];
};

/// What goes from one rank to another.
struct Connection {
  bool isSendMade, isReceiveMade;
  uint32_t pushed, popped;
  struct Letter {
    bool isFull;
    uint8_t stage, distance, ends;
  } letters[16];
};

struct RankState {
  enum { Absent, Joined, Gone } place;
  bool hasLeftInOrder;
  ProcessName process;
  int device;
  uint64_t host; // NCCL_HOSTID's hash
  char gpu[16];  // what tells GPUs apart
  bool mayShare; // NCCL_MULTI_RANK_GPU_ENABLE
  int code;      // ncclCommGetAsyncError()'s
  bool isExecuting, isConnecting;
  int awaited; // while it connects: a peer, or -1
  // Of its host at the stream since `seen` changes, and when the device last
  // found nothing to do.
  uint32_t looks, seen, groupTried, connectTried;
};

struct World {
  bool isUsed, sharesGpu;
  char id[128];
  int size, joined;
  uint32_t changes;
  unsigned depth; // chunks that fit a connection; 0: a send waits for the end
  RankState ranks[kMaxRanks];
  Connection connections[kMaxRanks][kMaxRanks]; // from, to

  Chunk *chunks(int from, int to);
  bool isAlive(int rank) {
    return ranks[rank].place == RankState::Joined &&
           Segment::get().isAlive(ranks[rank].process);
  }
  void note(int rank) {
    ++changes;
    ranks[rank].looks = 0;
  }
};

/// All of this with the lock of the segment held.

/// The world of an id; null if there is no room for another.
World *findWorld(const char *id, int size);
/// Gives a world back that all ranks have left.
void freeIfLeft(World &world);
/// What tells its GPU from others, for a version of NCCL.
void noteGpu(RankState &rank, int version);
/// Two ranks of one host on one GPU are refused, unless all may share one.
bool sharesGpu(const World &world);
/// All ranks learn that something went wrong that NCCL would not notice.
void blame(World &world, const std::string &what);
/// Finds that nobody can go on: all wait for transfers or connections, or have
/// left.
void findDeadlock(World &world);
/// Whether a rank still has connections with one of its node that lives.
bool hasPeers(World &world, int rank);

/// The segment's letters of a world.
class SharedBootstrap final : public Bootstrap {
public:
  explicit SharedBootstrap(World &world) : world(world) {}
  void send(Key key, uint8_t ends) override;
  bool has(Key key) override { return find(key) != nullptr; }
  uint8_t receive(Key key) override;

private:
  Connection::Letter *find(Key key);
  World &world;
};

} // namespace etc::test

#endif // ETC_TEST_NCCLWORLD_H
