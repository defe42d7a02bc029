#include "capi/CallerDevice.h"

#include "core/device/HostWorker.h"

using namespace etc::runtime;

const cuda::Driver *etc::runtime::driverOf(etc_transport transport) {
  if (transport != ETC_NCCL || !cuda::findDriver())
    return nullptr;
  return &*cuda::findDriver();
}

Result<std::unique_ptr<Worker>>
etc::runtime::makeWorker(etc_transport transport, unsigned gpu) {
  if (transport == ETC_NCCL)
    return makeCudaWorker(gpu);
  return makeHostWorker();
}
