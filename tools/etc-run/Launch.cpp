#include "Launch.h"

#include "Exit.h"
#include "ProgressLine.h"
#include "TraceFile.h"

#include "core/plan/SystemError.h"
#include "job/ListeningTime.h"

#include <csignal>
#include <cstring>
#include <new>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace etc::run;
using namespace etc::runtime;
using Clock = std::chrono::steady_clock;

namespace {

constexpr auto kPollInterval = std::chrono::milliseconds(2);
/// How long the others may take to end by themselves once one has failed.
constexpr auto kGrace = std::chrono::milliseconds(2500);

volatile std::sig_atomic_t wasInterrupted = 0;

/// Catches SIGINT and SIGTERM, so that children and files never outlive an
/// interrupted run. A SIGCHLD that is ignored, as some parents hand it down,
/// would leave nothing to wait for.
class SignalGuard {
public:
  SignalGuard() {
    struct sigaction action {};
    action.sa_handler = [](int) { wasInterrupted = 1; };
    ::sigaction(SIGINT, &action, &oldInt);
    ::sigaction(SIGTERM, &action, &oldTerm);
    action.sa_handler = SIG_DFL;
    ::sigaction(SIGCHLD, &action, &oldChild);
  }
  ~SignalGuard() {
    ::sigaction(SIGINT, &oldInt, nullptr);
    ::sigaction(SIGTERM, &oldTerm, nullptr);
    ::sigaction(SIGCHLD, &oldChild, nullptr);
  }

private:
  struct sigaction oldInt {
  }, oldTerm{}, oldChild{};
};

/// An array of T that forked processes share.
template <typename T> class SharedArray {
public:
  explicit SharedArray(size_t count) : count(count) {
    void *memory = ::mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
      throw std::bad_alloc();
    items = static_cast<T *>(memory);
    for (size_t i = 0; i != count; ++i)
      new (items + i) T();
  }
  ~SharedArray() { ::munmap(items, count * sizeof(T)); }
  SharedArray(const SharedArray &) = delete;
  SharedArray &operator=(const SharedArray &) = delete;

  T &operator[](size_t i) { return items[i]; }

private:
  size_t count;
  T *items;
};

/// The children of one launch.
class Launch {
public:
  Launch(const PlanIndex &index, const Options &options,
         const RunOptions &runOptions, Meeting &meeting)
      : index(index), options(options), runOptions(runOptions),
        meeting(meeting), outcomes(index.rankCount()), beats(index.rankCount()),
        isDone(index.rankCount()), progress(1) {}

  RunResult run() {
    SignalGuard guard;
    Status started = start();
    if (started.ok())
      supervise();
    endAll();
    RunResult result;
    result.status = started.ok() ? findCause() : started;
    for (uint32_t rank = 0; rank != index.rankCount(); ++rank) {
      result.reports.push_back(outcomes[rank].report);
      if (result.told.ok())
        result.told = outcomes[rank].told();
    }
    return result;
  }

private:
  struct Child {
    pid_t pid;
    bool isRunning = true;
    bool wasStopped = false; // by us
    int state = 0;
    uint32_t beats = 0;           // seen
    Clock::time_point heard = {}; // of the listening time
  };

  Status start() {
    const pid_t parent = ::getpid();
    for (uint32_t rank = 0; rank != index.rankCount(); ++rank) {
      pid_t pid = ::fork();
      if (pid < 0)
        return Status(ErrorKind::Usage,
                      text("cannot start process ", rank, " of ",
                           index.rankCount(), ": ", std::strerror(errno)));
      if (pid == 0)
        runChild(rank, parent);
      children.push_back({pid});
      children.back().heard = listening.now();
    }
    meeting.listener.close(); // rank 0 has it
    return Status::success();
  }

  [[noreturn]] void runChild(uint32_t rank, pid_t parent) {
    // A child never outlives its parent, even if that died before this line.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent)
      ::_exit(1);
    ::signal(SIGINT, SIG_IGN); // the parent ends its children
    ::signal(SIGTERM, SIG_DFL);
    leaveResourceLimitsToParent();
    if (rank != 0)
      meeting.listener.close();
    RunOptions own = runOptions;
    own.progress = &progress[0];
    {
      Session session;
      runRank(index, rank, meeting, options, own, outcomes[rank], session,
              &beats[rank]);
      isDone[rank] = true; // the session may wait for others
    }
    ::_exit(outcomes[rank].kind == ErrorKind::None ? 0 : 1);
  }

  /// Waits until all have ended, or one has failed or is late and the others
  /// had their time.
  void supervise() {
    ProgressLine line(index, progress[0], options.progress);
    std::optional<Clock::time_point> deadline;
    while (!wasInterrupted && reap() > 0) {
      listen();
      if (hasFailure() && !deadline)
        deadline = Clock::now() + kGrace;
      wasLate = isLate();
      if (wasLate || (deadline && Clock::now() > *deadline))
        return;
      line.update();
      std::this_thread::sleep_for(kPollInterval);
    }
  }

  /// A child that somebody else has collected has ended too; its id may be
  /// another process's by now.
  static bool hasEnded(Child &child) {
    const pid_t found = ::waitpid(child.pid, &child.state, WNOHANG);
    return found == child.pid || (found < 0 && errno == ECHILD);
  }

  /// Collects children that ended; returns how many still run.
  size_t reap() {
    size_t running = 0;
    for (Child &child : children) {
      if (child.isRunning && hasEnded(child))
        child.isRunning = false;
      running += child.isRunning;
    }
    return running;
  }

  /// Rank 0 hears the others; who hears rank 0 when the others are done?
  void listen() {
    listening.look();
    for (uint32_t rank = 0; rank != children.size(); ++rank) {
      Child &child = children[rank];
      if (child.beats == beats[rank] && child.beats != 0)
        continue;
      child.beats = beats[rank];
      child.heard = listening.now();
    }
  }

  bool isSilent(const Child &child) const {
    return child.isRunning && listening.now() - child.heard > options.silence;
  }

  /// What one may take to check and write its state after another has.
  Milliseconds lateness() const {
    return options.timeout + stateTime(index, options);
  }

  /// Whether a process has been done for so long that all should be.
  bool isLate() {
    for (uint32_t rank = 0; !firstDone && rank != children.size(); ++rank)
      if (isDone[rank])
        firstDone = listening.now();
    return firstDone && listening.now() - *firstDone > lateness();
  }

  bool hasFailure() const {
    for (const Child &child : children)
      if (isSilent(child) || (!child.isRunning && child.state != 0))
        return true;
    return false;
  }

  void endAll() {
    for (Child &child : children) {
      if (!child.isRunning)
        continue;
      child.wasStopped = true;
      ::kill(child.pid, SIGKILL);
      while (::waitpid(child.pid, &child.state, 0) < 0 && errno == EINTR)
        ;
      child.isRunning = false;
    }
  }

  /// How a process ended that did not say anything; empty for one that did, or
  /// that was ended here.
  std::string describeEnd(uint32_t rank) {
    const Child &child = children[rank];
    if (child.wasStopped)
      return {};
    if (WIFSIGNALED(child.state))
      return text("killed by signal ", WTERMSIG(child.state));
    if (WEXITSTATUS(child.state) == kOutOfMemory)
      return std::string("out of memory") + etc::plan::kMoreMemory;
    return outcomes[rank].isSet ? ""
                                : text("its process ended with status ",
                                       WEXITSTATUS(child.state));
  }

  /// What was wrong with a process that was ended here.
  std::string describeWait() const {
    if (wasLate)
      return text("not done ", lateness().count() / 1000.0,
                  " s after another device");
    return text("no sign of life for ", options.silence.count() / 1000.0, " s");
  }

  /// A process that crashed comes before what rank 0 found out, and that before
  /// what others say.
  Status findCause() {
    if (wasInterrupted)
      return Status(ErrorKind::Peer, "interrupted");
    for (uint32_t rank = 0; rank != children.size(); ++rank)
      if (std::string end = describeEnd(rank); !end.empty())
        return Status(ErrorKind::Peer,
                      describeLosses(index)(rank, outcomes[rank].round) + ": " +
                          end);
    for (uint32_t rank = 0; rank != children.size(); ++rank)
      if (Status status = outcomes[rank].status();
          !status.ok() && !children[rank].wasStopped)
        return status;
    for (uint32_t rank = 0; rank != children.size(); ++rank)
      if (children[rank].wasStopped && !(wasLate && isDone[rank]))
        return Status(ErrorKind::Peer,
                      describeLosses(index)(rank, outcomes[rank].round) + ": " +
                          describeWait());
    return Status::success();
  }

  const PlanIndex &index;
  const Options &options;
  const RunOptions &runOptions;
  Meeting &meeting;
  SharedArray<Outcome> outcomes;
  SharedArray<std::atomic<uint32_t>> beats;
  SharedArray<std::atomic<bool>> isDone; // but for its session
  SharedArray<Progress> progress;
  std::vector<Child> children;
  ListeningTime listening;
  std::optional<Clock::time_point> firstDone; // of the listening time
  bool wasLate = false;
};

} // namespace

RunResult etc::run::launchProcesses(const PlanIndex &index, Options options,
                                    const RunOptions &runOptions) {
  Result<Meeting> meeting = makeLocalMeeting();
  if (!meeting)
    return {meeting.status(), {}, false};
  if (options.host.empty())
    options.host = "127.0.0.1";
  RunResult result = Launch(index, options, runOptions, *meeting).run();
  Status joined = options.trace.empty()
                      ? Status::success()
                      : joinTraces(options.trace, index.rankCount());
  if (result.told.ok())
    result.told = joined;
  return result;
}
