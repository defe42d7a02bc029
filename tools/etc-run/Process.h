// One participant that is a process of its own.

#ifndef ETC_RUN_PROCESS_H
#define ETC_RUN_PROCESS_H

#include "Options.h"
#include "engine/DeviceRun.h"

#include <optional>

namespace etc::run {

/// What a migration came to: the first cause of a failure, and the reports of
/// all devices.
struct RunResult {
  plan::Status status = plan::Status::success();
  std::vector<runtime::DeviceReport> reports;
};

/// How a process's device fared. Plain data: it travels to whoever prints the
/// result.
struct Outcome {
  runtime::DeviceReport report;
  plan::ErrorKind kind = plan::ErrorKind::Peer;
  char message[500] = "ended without a result";

  void set(const plan::Status &status);
  plan::Status status() const;
};

/// A process's place among those that a launcher started, from the environment
/// that torchrun, Open MPI or Slurm sets.
std::optional<runtime::Member> findLaunchedMember();

/// Connects, migrates this rank's device, and verifies it. Returns
/// the transport for what follows; null after an error.
std::unique_ptr<runtime::Transport>
runRank(const plan::PlanIndex &index, uint32_t rank, const Options &options,
        runtime::Progress *progress, Outcome &outcome);

/// The run of a process that a launcher started. Reports are complete at rank
/// 0, and empty elsewhere.
RunResult runLaunched(const plan::PlanIndex &index, runtime::Member self,
                      const Options &options);

} // namespace etc::run

#endif // ETC_RUN_PROCESS_H
