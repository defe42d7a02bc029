#include "core/engine/LocalRun.h"

#include "core/plan/SystemError.h"
#include "core/transport/LocalTransport.h"

#include <mutex>
#include <thread>

using namespace etc::runtime;

LocalOutcome etc::runtime::runLocally(const PlanIndex &index,
                                      const RunOptions &options,
                                      const WorkerMaker &makeWorker) {
  LocalCluster cluster(index.participants());
  std::vector<std::unique_ptr<Worker>> workers;
  std::vector<std::unique_ptr<DeviceRun>> runs;
  for (uint32_t rank = 0; rank != index.rankCount(); ++rank) {
    Result<std::unique_ptr<Worker>> worker =
        makeWorker ? makeWorker(rank)
                   : makeHostWorker(options.keeping, index.device(rank));
    if (!worker)
      return {worker.status(), {}};
    workers.push_back(std::move(*worker));
    runs.push_back(std::make_unique<DeviceRun>(
        index, rank, cluster.control(rank), cluster.transport(rank),
        *workers.back(), options));
  }

  // The first failure is the cause; others only follow from it.
  LocalOutcome outcome;
  std::mutex mutex;
  auto note = [&](Status &place, const Status &status) {
    std::lock_guard lock(mutex);
    if (place.ok())
      place = status;
  };
  auto record = [&](const Status &status) { note(outcome.status, status); };
  auto runOne = [&](uint32_t rank) {
    Status s = runs[rank]->prepare();
    if (s.ok())
      s = runs[rank]->migrate();
    if (!s.ok()) {
      record(s);
      cluster.control(rank).abort(s.message());
    } else {
      s = runs[rank]->verify();
      record(s);
      if (s.ok())
        note(outcome.told, runs[rank]->write());
    }
  };
  {
    std::vector<std::jthread> threads;
    try {
      for (uint32_t rank = 0; rank != index.rankCount(); ++rank)
        threads.emplace_back(runOne, rank);
    } catch (const std::system_error &error) {
      record(Status(ErrorKind::Usage, etc::plan::describeThreadError(error)));
      // Those that have started would wait for it.
      cluster.control(static_cast<uint32_t>(threads.size())).abort({});
    }
  }
  for (auto &run : runs)
    outcome.reports.push_back(run->report());
  return outcome;
}
