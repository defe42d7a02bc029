// The middle of the control channel: a thread of rank 0's process that all
// processes are connected to.

#ifndef ETC_RUNTIME_JOB_HUB_H
#define ETC_RUNTIME_JOB_HUB_H

#include "core/net/Secret.h"
#include "core/transport/Strangers.h"
#include "job/ListeningTime.h"
#include "job/Wire.h"

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <thread>

namespace etc::runtime {

/// How patient the control channel is.
struct ControlTimes {
  Milliseconds meeting{300'000}; // until all processes are there
  Milliseconds beat{kBeatTime};
  Milliseconds silence{10'000}; // after which a process counts as lost
};

/// Says in words where a rank was when it was lost: "device 3: round 2: ...".
using DescribeLoss = std::function<std::string(uint32_t rank, uint32_t round)>;

struct HubOptions {
  std::string place; // where the processes meet, for messages
  Secret secret;
  uint32_t rankCount = 0;
  ControlTimes times;
  DescribeLoss describeLoss;
  /// Called by the hub's thread with why the processes cannot meet, before any
  /// of them is told; may be empty.
  std::function<void(const Status &why)> onUnmet = {};
};

/// Brings the processes together, compares what they are about to do, passes
/// addresses on, and listens for signs of life. When one fails it stops all and
/// tells them why: the failure that explains the others.
class Hub {
public:
  Hub(Socket listener, HubOptions options);
  /// Waits until every process has said that it is done, or all were stopped
  /// and know why. Says goodbye: by now, this process has told the user.
  ~Hub();

  /// This process cannot take part, and has no other way to say so: all are
  /// told. Called by another thread.
  void giveUp(const Status &why);

private:
  using Clock = std::chrono::steady_clock;

  /// A process.
  struct Guest {
    Socket socket;
    std::string out;
    FrameReader reader;
    Hello hello;
    Clock::time_point heard; // of the listening time
    uint32_t round = ~uint32_t{0};
    bool isLost = false;
    bool hasFailed = false;
    bool isDone = false;
  };

  void run();
  void wait();
  void noteGivenUp();
  void note(const Status &failure);
  bool isOver();
  bool isAwaited() const;
  static Socket duplicate(const Socket &socket);
  Socket takeConnection();
  void greet();
  void admit(Socket &socket, const std::string &said);
  /// Why it cannot take part, and whether all are stopped for that.
  static void tell(Socket &socket, bool areAllStopped, const Status &why);
  void refuse(Socket &socket, const Hello &hello, const Status &why);
  void welcomeAll();
  Status compareHellos() const;
  void listen(Guest &guest);
  void handle(uint32_t rank, const Frame &frame);
  void answer(Guest &guest, const std::string &key);
  void watch(Clock::time_point now);
  void stop();
  void lose(Guest &guest);
  Status findCause() const;
  void sendCause(const Status &cause);
  void sendToAll(FrameKind kind, std::string_view payload);
  void flush(Guest &guest);
  std::string nameMissing() const;

  Socket listener;
  Socket spare; // a descriptor for those that are told why they can't take part
  const HubOptions options;
  Strangers strangers;
  std::map<uint32_t, Guest> guests; // by rank
  std::set<uint32_t> turnedAway;    // ranks that were told why
  std::map<std::string, std::string> values;
  std::multimap<std::string, uint32_t> waiting; // ranks, by key

  bool isOpen = false; // all are there, and agree
  bool isFull = false; // out of descriptors for more
  std::atomic<bool> isEnding = false;
  Clock::time_point start, nextBeat;
  ListeningTime listening;
  std::optional<Clock::time_point> stopped, told;
  std::optional<Status> firstFailure, firstFault; // of others, of one's own
  std::optional<Status> verdict;                  // what all were told
  std::mutex mutex;
  std::optional<Status> givenUp; // by this process
  std::thread thread;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_JOB_HUB_H
