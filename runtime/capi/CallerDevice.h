// The device that a caller's tensors are on.

#ifndef ETC_RUNTIME_CAPI_CALLERDEVICE_H
#define ETC_RUNTIME_CAPI_CALLERDEVICE_H

#include "core/device/CudaWorker.h"

#include "etc-c/run.h"

namespace etc::runtime {

/// Null for host memory: nothing starts the driver then.
const cuda::Driver *driverOf(etc_transport transport);

/// A worker on host memory, or, for ETC_NCCL, on a GPU.
Result<std::unique_ptr<Worker>> makeWorker(etc_transport transport,
                                           unsigned gpu);

} // namespace etc::runtime

#endif // ETC_RUNTIME_CAPI_CALLERDEVICE_H
