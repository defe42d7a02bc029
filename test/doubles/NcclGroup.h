// A rank's communicator, and its groups of sends and receives.

#ifndef ETC_TEST_NCCLGROUP_H
#define ETC_TEST_NCCLGROUP_H

#include "NcclWorld.h"
#include "Schedule.h"

#include <deque>
#include <memory>
#include <thread>
#include <vector>

namespace etc::test {

struct Transfer {
  bool isSend;
  int peer;
  Range memory;
  size_t moved = 0;
  bool isBegun = false; // counted against the peer's
  bool isDone = false;
};

class GroupWork;

/// A communicator in this process. Its own fields are used with the segment's
/// lock held.
struct Communicator {
  World *world;
  int rank, device;
  bool isGone = false;    // destroyed or aborted
  std::thread::id caller; // whose memory its last call's work is in, or none
  std::deque<std::shared_ptr<GroupWork>> groups; // launched, not yet done
  std::vector<Range> registered;

  RankState &state() { return world->ranks[rank]; }
};

/// The kernel of a group: all of its transfers at once, each in pieces.
class GroupWork final : public Work {
public:
  GroupWork(Communicator &comm, StreamHandle stream,
            std::vector<Transfer> transfers)
      : comm(comm), stream(stream), transfers(std::move(transfers)) {}

  Step step(Random &random) override;
  bool touches(const Range &range) const override;
  bool isTransfer() const override { return true; }

  StreamHandle on() const { return stream; }
  const std::vector<Transfer> &all() const { return transfers; }

private:
  bool moveOne(Random &random);
  bool push(Transfer &transfer);
  bool pull(Transfer &transfer);
  bool isNext(const Transfer &transfer) const;
  bool isRegistered(const Transfer &transfer) const;
  void mismatch(const Transfer &transfer, uint64_t sent);
  Step end();

  Communicator &comm;
  const StreamHandle stream;
  std::vector<Transfer> transfers;
  unsigned lingers = 0; // after an abort
  bool isEnding = false;
};

/// What a non-blocking group does on a thread of NCCL's: connects, then
/// launches (groupLaunchNonBlocking in src/group.cc).
class GroupTask final : public Work {
public:
  GroupTask(Communicator &comm, std::shared_ptr<GroupWork> group);
  Step step(Random &random) override;

private:
  Communicator &comm;
  std::shared_ptr<GroupWork> group;
  Handshake handshake;
  bool isNoted = false, hasConnected = false;
};

/// Groups that had to connect first.
unsigned &handshakes();

} // namespace etc::test

#endif // ETC_TEST_NCCLGROUP_H
