#include "core/device/CudaDriver.h"

#include "core/device/SharedLibrary.h"

using namespace etc::runtime;
using namespace etc::runtime::cuda;
using etc::plan::text;

Status Driver::check(Code code, const char *what) const {
  if (code == kSuccess)
    return Status::success();
  const char *reason = nullptr;
  if (cuGetErrorString(code, &reason) != kSuccess || !reason)
    reason = "unknown error";
  return Status(ErrorKind::Usage,
                text("CUDA: ", what, ": ", reason, " (", code, ")"));
}

/// The name of the first function that is missing, or null.
static const char *lookUp(const SharedLibrary &library, Driver &driver) {
#define ETC_FIND(name)                                                         \
  if (!library.find(#name, driver.name))                                       \
    return #name;
  ETC_FIND(cuInit)
  ETC_FIND(cuDriverGetVersion)
  ETC_FIND(cuGetErrorString)
  ETC_FIND(cuDeviceGetCount)
  ETC_FIND(cuDeviceGet)
  ETC_FIND(cuDeviceGetName)
  ETC_FIND(cuDeviceGetAttribute)
  ETC_FIND(cuDeviceGetPCIBusId)
  ETC_FIND(cuDeviceCanAccessPeer)
  ETC_FIND(cuDevicePrimaryCtxRetain)
  ETC_FIND(cuCtxSetCurrent)
  ETC_FIND(cuCtxGetCurrent)
  ETC_FIND(cuMemGetInfo_v2)
  ETC_FIND(cuMemAlloc_v2)
  ETC_FIND(cuMemFree_v2)
  ETC_FIND(cuMemAllocAsync)
  ETC_FIND(cuMemFreeAsync)
  ETC_FIND(cuMemHostAlloc)
  ETC_FIND(cuMemFreeHost)
  ETC_FIND(cuMemcpyHtoDAsync_v2)
  ETC_FIND(cuMemcpyDtoHAsync_v2)
  ETC_FIND(cuMemcpyDtoDAsync_v2)
  ETC_FIND(cuMemsetD8Async)
  ETC_FIND(cuStreamCreate)
  ETC_FIND(cuStreamDestroy_v2)
  ETC_FIND(cuStreamQuery)
  ETC_FIND(cuStreamSynchronize)
  ETC_FIND(cuStreamWaitEvent)
  ETC_FIND(cuEventCreate)
  ETC_FIND(cuEventDestroy_v2)
  ETC_FIND(cuEventRecord)
  ETC_FIND(cuEventQuery)
  ETC_FIND(cuEventSynchronize)
  ETC_FIND(cuModuleLoadData)
  ETC_FIND(cuModuleUnload)
  ETC_FIND(cuModuleGetFunction)
  ETC_FIND(cuLaunchKernel)
  ETC_FIND(cuMemGetAllocationGranularity)
  ETC_FIND(cuMemAddressReserve)
  ETC_FIND(cuMemAddressFree)
  ETC_FIND(cuMemCreate)
  ETC_FIND(cuMemRelease)
  ETC_FIND(cuMemMap)
  ETC_FIND(cuMemUnmap)
  ETC_FIND(cuMemSetAccess)
#undef ETC_FIND
  if (!library.find("cuDeviceGetUuid_v2", driver.cuDeviceGetUuid_v2) &&
      !library.find("cuDeviceGetUuid", driver.cuDeviceGetUuid_v2))
    return "cuDeviceGetUuid";
  return nullptr;
}

static Result<Driver> loadDriver() {
  SharedLibrary library =
      SharedLibrary::open("ETC_CUDA_DRIVER", "libcuda.so.1");
  if (!library.isOpen())
    return Status(ErrorKind::Usage,
                  text("no CUDA driver (", library.name(),
                       " cannot be loaded); install NVIDIA's, or use "
                       "--transport=tcp or local with host memory"));
  Driver driver{};
  if (const char *missing = lookUp(library, driver))
    return Status(ErrorKind::Usage,
                  text("the CUDA driver ", library.name(), " is too old (no ",
                       missing, "); install one for CUDA 12 or later"));
  return driver;
}

static const Result<Driver> &loadedDriver() {
  static const Result<Driver> driver = loadDriver();
  return driver;
}

static Result<Driver> startDriver() {
  const Result<Driver> &driver = loadedDriver();
  if (!driver)
    return driver.status();
  Status status = driver->check(driver->cuInit(0), "cannot initialise");
  return status.ok() ? driver : Result<Driver>(status);
}

Status cuda::findDriverLibrary() { return loadedDriver().status(); }

const Result<Driver> &cuda::findDriver() {
  static const Result<Driver> driver = startDriver();
  return driver;
}

Status DeviceContext::enter() const {
  return driver_->check(driver_->cuCtxSetCurrent(context),
                        "cannot use the device");
}

void KeptContext::note(const Driver *used) {
  if (used && used->cuCtxGetCurrent(&context) == kSuccess)
    driver = used;
}

KeptContext::~KeptContext() {
  if (driver)
    driver->cuCtxSetCurrent(context);
}

Result<DeviceContext> DeviceContext::open(const Driver &driver,
                                          unsigned ordinal) {
  int count = 0;
  if (Status s =
          driver.check(driver.cuDeviceGetCount(&count), "cannot count devices");
      !s.ok())
    return s;
  if (ordinal >= static_cast<unsigned>(count))
    return Status(ErrorKind::Usage,
                  text("no GPU ", ordinal, ": there are ", count,
                       "; start fewer processes on this host, or look at "
                       "CUDA_VISIBLE_DEVICES"));
  DeviceContext made;
  made.driver_ = &driver;
  Status status =
      driver.check(driver.cuDeviceGet(&made.device_, static_cast<int>(ordinal)),
                   "no such device");
  if (status.ok())
    status = driver.check(
        driver.cuDevicePrimaryCtxRetain(&made.context, made.device_),
        "cannot use the device");
  if (status.ok())
    status = made.enter();
  return status.ok() ? Result<DeviceContext>(made)
                     : Result<DeviceContext>(status);
}
