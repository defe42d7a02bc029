// Filling and checking the whole state of a device by formula, where it is.

#ifndef ETC_RUNTIME_CORE_ENGINE_DEVICEFILL_H
#define ETC_RUNTIME_CORE_ENGINE_DEVICEFILL_H

#include "core/device/Worker.h"
#include "core/engine/DeviceState.h"

namespace etc::runtime {

/// Writes every element of one side.
Status fillState(const PlanIndex &index, Side side, const DeviceState &state,
                 Worker &worker);

/// Compares every element, bit for bit. The error is of kind Verification and
/// names the first wrong element.
Status checkState(const PlanIndex &index, Side side, const DeviceState &state,
                  Worker &worker);

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_ENGINE_DEVICEFILL_H
