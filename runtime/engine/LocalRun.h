// A whole migration in one process, every device a thread.

#ifndef ETC_RUNTIME_ENGINE_LOCALRUN_H
#define ETC_RUNTIME_ENGINE_LOCALRUN_H

#include "engine/DeviceRun.h"

#include <vector>

namespace etc::runtime {

/// Reports in the order of the participants, filled as far as each device came,
/// and the first cause of a failure.
struct LocalOutcome {
  Status status = Status::success();
  std::vector<DeviceReport> reports;
};

LocalOutcome runLocally(const PlanIndex &index, const RunOptions &options);

} // namespace etc::runtime

#endif // ETC_RUNTIME_ENGINE_LOCALRUN_H
