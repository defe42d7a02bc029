// One process's end of the control channel.

#ifndef ETC_RUNTIME_JOB_CLIENT_H
#define ETC_RUNTIME_JOB_CLIENT_H

#include "job/Hub.h"

#include <condition_variable>
#include <memory>
#include <mutex>

namespace etc::runtime {

struct ClientOptions {
  Address address;
  Secret secret;
  Hello hello;
  ControlTimes times;
  DescribeLoss describeLoss;
  /// Called by another thread when this process has been told to stop, and has
  /// not done so for a while. It ends the process, unless that is about to end.
  std::function<void(const Status &cause, bool isHubLost)> onStuck;
  /// Called with every sign of life, by another thread; may be empty.
  std::function<void()> onBeat = {};
  /// How long a process that is stuck waits for the hub's goodbye.
  Milliseconds goodbye{0};
};

/// Sends signs of life, and hears when to stop. All functions can be called by
/// any thread.
class Client {
public:
  /// Connects, again where the hub has too many strangers to listen to, and
  /// waits until all processes are there. Errors are those of the
  /// meeting; `areAllTold` is set if the hub told this one to all, its own
  /// process included.
  static Result<std::unique_ptr<Client>> join(ClientOptions options,
                                              bool *areAllTold = nullptr);
  /// Says goodbye if leave() was not called. Signs of life go on until here.
  ~Client();

  /// What every rank did in an earlier attempt.
  const std::vector<Standing> &standings() const { return standings_; }

  /// Values for other processes, under keys. get() waits; the error is of kind
  /// Peer.
  void put(const std::string &key, const std::string &value);
  Result<std::string> get(const std::string &key, Milliseconds timeout);

  /// Called when all have to stop, by another thread, or at once if it is too
  /// late for that; possibly twice. The one before is not running any more when
  /// this returns.
  void onStop(std::function<void()> callback);

  /// Where this process is, for others to tell.
  void note(uint32_t round);

  /// Tells all to stop, and why. Before connections to others end: what these
  /// say then is not the cause.
  void tell(const Status &failure);
  /// The same; returns the cause that all were told.
  Status fail(const Status &failure);
  /// This process is done.
  void leave();
  /// After leave(): waits for the hub's goodbye. Whether it came.
  bool awaitGoodbye(Milliseconds timeout);
  /// Whether rank 0 cannot tell the user what happened.
  bool isHubLost() const;

private:
  using Clock = std::chrono::steady_clock;

  explicit Client(ClientOptions options, Socket socket);
  Status awaitWelcome(Clock::time_point deadline);
  bool isCauseOfAll() const;
  bool isCutOff() const;
  void run();
  void receive();
  void handle(const Frame &frame);
  void loseHub(const std::string &how);
  void send(FrameKind kind, std::string_view payload);
  void wakeUp();
  void stop();
  void watch();

  const ClientOptions options;
  Socket socket;
  FrameReader reader;
  std::string out;

  mutable std::mutex mutex;
  std::mutex calling; // held while the callback runs; taken before `mutex`
  std::condition_variable changed;
  std::vector<Standing> standings_;
  std::map<std::string, std::string> values;
  std::function<void()> callback;
  std::optional<Status> cause;
  std::optional<Clock::time_point> stopped, ending;
  bool isWelcome = false, isHandled = false, isLeaving = false;
  bool hasTold = false;
  bool isOfAll = false;   // the cause: all are stopped for it
  bool isCutOff_ = false; // before the hub knew who this is
  bool isHubLost_ = false;
  bool isDismissed = false; // the hub has said goodbye
  uint32_t round = ~uint32_t{0}, hubRound = ~uint32_t{0};
  ListeningTime listening;
  Clock::time_point heard; // of the listening time
  Clock::time_point nextBeat;
  int wake[2] = {-1, -1};
  std::thread thread;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_JOB_CLIENT_H
