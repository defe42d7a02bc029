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

#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace etc::test {

/// Messages between the ranks of a communicator by another way than the one
/// that is being made: by stage and distance, from one rank to another.
class Bootstrap {
public:
  struct Key {
    uint8_t stage;
    uint8_t distance;
    int from, to;
  };
  virtual ~Bootstrap() = default;
  virtual void send(Key key, uint8_t ends) = 0;
  virtual bool has(Key key) = 0;
  virtual uint8_t receive(Key key) = 0;
};

/// What one rank does before it launches a group.
class Handshake {
public:
  Handshake(int rank, int size) : rank(rank), size(size) {}

  void sendTo(int peer) { targets.insert(peer); }
  void receiveFrom(int peer) { sources.insert(peer); }
  bool isEmpty() const { return targets.empty() && sources.empty(); }

  /// Does what can be done now; returns whether that was anything. `misuse` is
  /// one that NCCL does not find: two ranks at half the communicator's distance
  /// exchange one message for both directions, whose parts are taken for what
  /// the receiver expects.
  bool advance(Bootstrap &bootstrap, std::string &misuse);
  bool isDone() const { return stage == 2; }
  /// The peers that the present step waits for.
  std::set<int> awaited() const;

private:
  enum End : uint8_t { Send = 1, Receive = 2 };

  int ahead() const { return (rank + distance) % size; }
  int behind() const { return (rank - distance + size) % size; }
  uint8_t endsAt(int peer) const;
  Bootstrap::Key key(int from, int to) const {
    return {static_cast<uint8_t>(stage), static_cast<uint8_t>(distance), from,
            to};
  }

  const int rank, size;
  std::set<int> targets, sources;
  int stage = 0, distance = 1;
  bool hasSent = false; // what belongs to this step
};

} // namespace etc::test

#endif // ETC_TEST_NCCLHANDSHAKE_H
