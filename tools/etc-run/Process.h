// One participant that is a process of its own.

#ifndef ETC_RUN_PROCESS_H
#define ETC_RUN_PROCESS_H

#include "Hooks.h"
#include "Meeting.h"
#include "Options.h"
#include "core/engine/DeviceRun.h"
#include "job/Client.h"

#include <functional>
#include <optional>

namespace etc::run {

/// What a migration came to: the first cause of a failure, and the reports of
/// all devices.
struct RunResult {
  plan::Status status = plan::Status::success();
  std::vector<runtime::DeviceReport> reports;
  bool isSilent = false; // another process tells the user
  /// Of what is written when the migration is over: state, figures, trace.
  plan::Status told = plan::Status::success();
  /// At rank 0, its part in the job, which ends after the user is told: then
  /// the others end.
  std::shared_ptr<void> part = {};
};

/// How a process's device fared. Plain data: it travels to whoever prints the
/// result.
struct Outcome {
  runtime::DeviceReport report;
  plan::ErrorKind kind = plan::ErrorKind::Peer;
  char message[1000] = "ended without a result";
  uint32_t round = ~uint32_t{0}; // the one it is in
  bool isSet = false;
  bool isUntold = false;

  void set(const plan::Status &status);
  /// Where all went well, but what was to be written then could not be: the
  /// message is about that, and the kind stays None.
  void tell(const plan::Status &written);
  plan::Status status() const;
  plan::Status told() const;
};

/// What lives as long as a process takes part. Members go in reverse order.
struct Session {
  std::unique_ptr<runtime::Hub> hub; // rank 0's
  std::unique_ptr<runtime::Client> client;
  runtime::Connections connections;
  std::atomic<bool> isStopped{false}; // while they are made
  bool areAllTold = false; // also rank 0, why the processes could not meet
  bool isTold = false;     // the user, of that
  /// Where other processes end once the user is told: how long one that leaves
  /// that to rank 0 waits for it.
  runtime::Milliseconds goodbye{0};
  std::function<void()> withdraw = {}; // rank 0's file, at the end
  std::atomic_flag isEnding;           // by the thread that set it
  /// Whether the process itself tells the user what ends it, given whether rank
  /// 0 is lost. Empty where another process tells in any case.
  std::function<bool(bool isHubLost)> isReporter = {};
  /// Tells the user, at rank 0, why the processes cannot meet: before the
  /// others know, with which a launcher may end all. Empty as above.
  std::function<void(const plan::Status &why)> onUnmet = {};

  /// Says that this process is done.
  void leave();
  ~Session();
};

/// What the largest state of a device takes at the floor rate, to be filled,
/// checked or written.
runtime::Milliseconds stateTime(const plan::PlanIndex &index,
                                const Options &options);

/// Meets the others, connects to them, migrates this rank's device, and
/// verifies it. The session is for what follows. Another thread counts signs of
/// life, unless `beats` is null.
void runRank(const plan::PlanIndex &index, uint32_t rank, Meeting &meeting,
             const Options &options, runtime::RunOptions runOptions,
             Outcome &outcome, Session &session,
             std::atomic<uint32_t> *beats = nullptr);

/// The run of a process that a launcher started. Reports are complete at rank
/// 0, and empty elsewhere.
RunResult runLaunched(const plan::PlanIndex &index, runtime::RankAndCount self,
                      const Options &options,
                      const runtime::RunOptions &runOptions);

/// Where a rank was when it was lost, in words.
runtime::DescribeLoss describeLosses(const plan::PlanIndex &index);

} // namespace etc::run

#endif // ETC_RUN_PROCESS_H
