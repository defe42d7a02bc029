#include "core/engine/Ceiling.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>

using namespace etc::runtime;
using etc::plan::PlanIndex;
using etc::plan::fb::OpKind;

namespace {

/// Messages take turns in so much memory: more than caches hold, less than the
/// state.
constexpr uint64_t kMostBytes = 256 << 20;
/// One measurement says little on a machine that does other things too.
constexpr size_t kTimes = 3;

/// Bytes of one round and direction, by peer.
using PeerBytes = std::map<uint32_t, uint64_t>;

PeerBytes bytesOfRound(const PlanIndex &index, uint32_t rank, uint32_t round,
                       OpKind kind) {
  const etc::plan::Participant participant = index.participant(rank);
  const auto &program = index.program(participant.program);
  PeerBytes bytes;
  for (const auto *op : *program.rounds()->Get(round)->ops())
    if (op->kind() == kind)
      bytes[*index.rankOf(program.peers()
                              ->Get(op->peer())
                              ->devices()
                              ->Get(participant.replica))] +=
          index.opBytes(*op);
  return bytes;
}

uint64_t keptBytesOfRound(const PlanIndex &index, uint32_t program,
                          uint32_t round) {
  uint64_t bytes = 0;
  for (const auto *op : *index.program(program).rounds()->Get(round)->ops())
    if (op->kind() == OpKind::zero || op->kind() == OpKind::derive ||
        (op->kind() == OpKind::refer && !index.bindsMemory(program, *op)))
      bytes += index.opBytes(*op);
  return bytes;
}

/// Memory of one direction, out of which messages get their places in turn.
class Ring {
public:
  explicit Ring(Allocator &allocator) : allocator(allocator) {}
  ~Ring() {
    if (buffer.data)
      allocator.release(buffer);
  }

  Status allocate(uint64_t largest, uint64_t total) {
    Result<Buffer> memory =
        allocator.allocate(std::max(largest, std::min(total, kMostBytes)));
    if (!memory)
      return memory.status();
    buffer = *memory;
    return Status::success();
  }

  /// Places of one round do not overlap, since the largest round fits.
  WritableBytes next(uint64_t bytes) {
    if (cursor + bytes > buffer.bytes)
      cursor = 0;
    cursor += bytes;
    return {buffer.data + cursor - bytes, bytes};
  }
  void beginRound(uint64_t bytes) {
    if (cursor + bytes > buffer.bytes)
      cursor = 0;
  }

private:
  Allocator &allocator;
  Buffer buffer;
  uint64_t cursor = 0;
};

/// One direction of all rounds.
struct Traffic {
  explicit Traffic(Allocator &allocator) : ring(allocator) {}

  void add(PeerBytes bytes) {
    uint64_t sum = 0;
    for (auto [peer, count] : bytes)
      sum += count;
    sums.push_back(sum);
    rounds.push_back(std::move(bytes));
  }
  Status allocate() {
    uint64_t total = 0, largest = 0;
    for (uint64_t sum : sums) {
      total += sum;
      largest = std::max(largest, sum);
    }
    return total == 0 ? Status::success() : ring.allocate(largest, total);
  }

  std::vector<PeerBytes> rounds;
  std::vector<uint64_t> sums;
  Ring ring;
};

/// The messages of one round. They stay to the end, since nobody says when a
/// peer has read them.
struct Group {
  Move keep; // of no bytes where nothing is
  std::vector<Bytes> out;
  std::vector<WritableBytes> in;
  std::vector<Outgoing> outgoing;
  std::vector<Incoming> incoming;
};

void layOut(Traffic &sends, Traffic &recvs, size_t round, Group &group) {
  sends.ring.beginRound(sends.sums[round]);
  recvs.ring.beginRound(recvs.sums[round]);
  for (auto [peer, bytes] : sends.rounds[round]) {
    group.out.push_back(sends.ring.next(bytes));
    group.outgoing.push_back({peer, bytes, {}, {}});
  }
  for (auto [peer, bytes] : recvs.rounds[round]) {
    group.in.push_back(recvs.ring.next(bytes));
    group.incoming.push_back({peer, bytes, {}, {}});
  }
  for (size_t i = 0; i != group.out.size(); ++i)
    group.outgoing[i].pieces = {&group.out[i], 1};
  for (size_t i = 0; i != group.in.size(); ++i)
    group.incoming[i].pieces = {&group.in[i], 1};
}

} // namespace

/// All rounds once, in seconds.
static Result<double> sendAll(std::span<Group> groups, RankAndCount self,
                              Control &control, Transport &transport,
                              Worker &worker, Milliseconds timeout) {
  if (Status s = barrier(control, self, timeout); !s.ok())
    return s;
  auto start = std::chrono::steady_clock::now();
  for (Group &group : groups) {
    if (Status s = transport.post(group.outgoing, group.incoming); !s.ok())
      return s;
    if (group.keep.bytes > 0)
      if (Status s = worker.run({&group.keep, 1}, {}); !s.ok())
        return s;
    if (Status s = transport.wait(timeout); !s.ok())
      return s;
  }
  std::chrono::duration<double> spent =
      std::chrono::steady_clock::now() - start;
  // Peers may still read this rank's memory.
  if (Status s = barrier(control, self, timeout); !s.ok())
    return s;
  return spent.count();
}

Result<double> etc::runtime::measureCeiling(const PlanIndex &index,
                                            RankAndCount self, Control &control,
                                            Transport &transport,
                                            Worker &worker,
                                            Milliseconds timeout) {
  Traffic sends(worker.allocator()), recvs(worker.allocator());
  const uint32_t program = index.participant(self.rank).program;
  const uint32_t rounds = index.program(program).rounds()->size();
  Traffic reads(worker.allocator()), writes(worker.allocator());
  for (uint32_t round = 0; round != rounds; ++round) {
    const uint64_t kept = keptBytesOfRound(index, program, round);
    reads.add({{self.rank, kept}});
    writes.add({{self.rank, kept}});
    sends.add(bytesOfRound(index, self.rank, round, OpKind::send));
    recvs.add(bytesOfRound(index, self.rank, round, OpKind::recv));
  }
  for (Traffic *lane : {&sends, &recvs, &reads, &writes})
    if (Status s = lane->allocate(); !s.ok())
      return s;
  std::vector<Group> groups(rounds);
  for (uint32_t round = 0; round != rounds; ++round) {
    layOut(sends, recvs, round, groups[round]);
    groups[round].keep =
        hashMove(reads.ring.next(reads.sums[round]).data(), reads.sums[round]);
    groups[round].keep.kind = MoveKind::Copy;
    groups[round].keep.to =
        reinterpret_cast<uint64_t>(writes.ring.next(writes.sums[round]).data());
  }
  std::array<double, kTimes> seconds;
  for (double &time : seconds) {
    Result<double> spent =
        sendAll(groups, self, control, transport, worker, timeout);
    if (!spent)
      return spent;
    time = *spent;
  }
  std::ranges::sort(seconds);
  return seconds[kTimes / 2];
}
