// A whole migration in one process, every device a thread.

#ifndef ETC_RUNTIME_CORE_ENGINE_LOCALRUN_H
#define ETC_RUNTIME_CORE_ENGINE_LOCALRUN_H

#include "core/engine/DeviceRun.h"

#include <functional>
#include <vector>

namespace etc::runtime {

/// Reports in the order of the participants, filled as far as each device came,
/// and the first cause of a failure.
struct LocalOutcome {
  Status status = Status::success();
  std::vector<DeviceReport> reports;
  Status told = Status::success(); // of what is written afterwards
};

/// Makes the worker of a rank.
using WorkerMaker =
    std::function<Result<std::unique_ptr<Worker>>(uint32_t rank)>;

/// Devices are in host memory, or where the options keep it, unless another
/// maker of workers is given.
LocalOutcome runLocally(const PlanIndex &index, const RunOptions &options,
                        const WorkerMaker &makeWorker = {});

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_ENGINE_LOCALRUN_H
