// How NCCL connects point-to-point peers: what each end does, in its order, and
// when it waits for the other.
//
// ncclSend and ncclRecv mark the peers of a group that are new in their
// direction (p2pTaskAppend in src/enqueue.cc). Before anything of the group is
// launched, groupLaunch (src/group.cc) makes all of these connections in
// ncclTransportP2pSetup (src/transport.cc): at distance 1, 2, ... a rank sends
// its ends to the ranks that far behind and ahead of it, and blocks until
// theirs have come; then it does the same once more with empty messages, so
// that nobody runs ahead. Read in 2.30.7; 2.19 does the same.

#ifndef ETC_TEST_NCCLHANDSHAKE_H
#define ETC_TEST_NCCLHANDSHAKE_H

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>

namespace etc::test {

/// Bootstrap messages of all ranks of a communicator: by stage, distance,
/// sender and receiver; each says which ends its sender makes.
using Bootstrap =
    std::map<std::tuple<int, int, int, int>, std::deque<unsigned>>;

/// What one rank does before it launches a group.
class Handshake {
public:
  Handshake(int rank, int size) : rank(rank), size(size) {}

  void sendTo(int peer) { targets.insert(peer); }
  void receiveFrom(int peer) { sources.insert(peer); }
  bool isEmpty() const { return targets.empty() && sources.empty(); }

  /// Does what can be done now. The error is a misuse that NCCL does not find:
  /// two ranks at half the communicator's distance exchange one message for
  /// both directions, whose parts are taken for what the receiver expects.
  std::optional<std::string> advance(Bootstrap &bootstrap);
  bool isDone() const { return stage == 2; }
  /// The peers that the present step waits for.
  std::set<int> awaited() const;

private:
  enum End : unsigned { Send = 1, Receive = 2 };

  int ahead() const { return (rank + distance) % size; }
  int behind() const { return (rank - distance + size) % size; }
  unsigned endsAt(int peer) const;

  const int rank, size;
  std::set<int> targets, sources;
  int stage = 0, distance = 1;
  bool hasSent = false; // what belongs to this step
};

} // namespace etc::test

#endif // ETC_TEST_NCCLHANDSHAKE_H
