// A point in the work of a device.

#ifndef ETC_RUNTIME_CORE_DEVICE_DEVICEPOINT_H
#define ETC_RUNTIME_CORE_DEVICE_DEVICEPOINT_H

#include "core/device/CudaDriver.h"

namespace etc::runtime {

/// Work can begin when the device has come there, without a wait on the host.
/// Null: it has. Not owned.
struct DevicePoint {
  cuda::Event event = nullptr;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_DEVICE_DEVICEPOINT_H
