// The CUDA driver, looked up at run time. Types and values are those of its
// binary interface, declared here so that no toolkit is needed to build; a test
// compares them with cuda.h where that is found.

#ifndef ETC_RUNTIME_CORE_DEVICE_CUDADRIVER_H
#define ETC_RUNTIME_CORE_DEVICE_CUDADRIVER_H

#include "core/plan/Status.h"

#include <cstddef>
#include <cstdint>

namespace etc::runtime::cuda {

using plan::ErrorKind;
using plan::Result;
using plan::Status;

using Code = int; // CUresult
constexpr Code kSuccess = 0;
constexpr Code kNotReady = 600;
using Address = unsigned long long; // CUdeviceptr
using Device = int;
using Context = struct ContextOpaque *;
using Stream = struct StreamOpaque *;
using Event = struct EventOpaque *;
using Module = struct ModuleOpaque *;
using Function = struct FunctionOpaque *;
using PageHandle = unsigned long long; // CUmemGenericAllocationHandle

struct Uuid { // CUuuid
  unsigned char bytes[16];
  bool operator==(const Uuid &) const = default;
};

struct Location { // CUmemLocation
  int type;
  int id;
};
constexpr int kOnDevice = 1;

struct PageProperties { // CUmemAllocationProp
  int type;
  int requestedHandleTypes;
  Location location;
  void *win32HandleMetaData;
  struct {
    unsigned char compressionType;
    unsigned char gpuDirectRDMACapable;
    unsigned short usage;
    unsigned char reserved[4];
  } allocFlags;
};
constexpr int kPinned = 1;

struct Access { // CUmemAccessDesc
  Location location;
  int flags;
};
constexpr int kReadWrite = 3;

constexpr unsigned kNoTiming = 2; // CU_EVENT_DISABLE_TIMING

// CUdevice_attribute
constexpr int kMultiprocessors = 16;
constexpr int kCapabilityMajor = 75, kCapabilityMinor = 76;
constexpr int kVirtualMemory = 102;

/// The functions used here, by the names of the binary interface.
struct Driver {
  Code (*cuInit)(unsigned);
  Code (*cuDriverGetVersion)(int *);
  Code (*cuGetErrorString)(Code, const char **);
  Code (*cuDeviceGetCount)(int *);
  Code (*cuDeviceGet)(Device *, int);
  Code (*cuDeviceGetName)(char *, int, Device);
  Code (*cuDeviceGetAttribute)(int *, int, Device);
  Code (*cuDeviceGetPCIBusId)(char *, int, Device);
  /// Of a partition of a GPU, its own; before CUDA 11.4, the whole GPU's.
  Code (*cuDeviceGetUuid_v2)(Uuid *, Device);
  Code (*cuDeviceCanAccessPeer)(int *, Device, Device);
  Code (*cuDevicePrimaryCtxRetain)(Context *, Device);
  Code (*cuCtxSetCurrent)(Context);
  Code (*cuCtxGetCurrent)(Context *);
  Code (*cuMemGetInfo_v2)(size_t *, size_t *);
  Code (*cuMemAlloc_v2)(Address *, size_t);
  Code (*cuMemFree_v2)(Address);
  Code (*cuMemAllocAsync)(Address *, size_t, Stream);
  Code (*cuMemFreeAsync)(Address, Stream);
  Code (*cuMemHostAlloc)(void **, size_t, unsigned);
  Code (*cuMemFreeHost)(void *);
  Code (*cuMemcpyHtoDAsync_v2)(Address, const void *, size_t, Stream);
  Code (*cuMemcpyDtoHAsync_v2)(void *, Address, size_t, Stream);
  Code (*cuMemcpyDtoDAsync_v2)(Address, Address, size_t, Stream);
  Code (*cuMemsetD8Async)(Address, unsigned char, size_t, Stream);
  Code (*cuStreamCreate)(Stream *, unsigned);
  Code (*cuStreamDestroy_v2)(Stream);
  Code (*cuStreamQuery)(Stream);
  Code (*cuStreamSynchronize)(Stream);
  Code (*cuStreamWaitEvent)(Stream, Event, unsigned);
  Code (*cuEventCreate)(Event *, unsigned);
  Code (*cuEventDestroy_v2)(Event);
  Code (*cuEventRecord)(Event, Stream);
  Code (*cuEventQuery)(Event);
  Code (*cuEventSynchronize)(Event);
  Code (*cuModuleLoadData)(Module *, const void *);
  Code (*cuModuleUnload)(Module);
  Code (*cuModuleGetFunction)(Function *, Module, const char *);
  Code (*cuLaunchKernel)(Function, unsigned, unsigned, unsigned, unsigned,
                         unsigned, unsigned, unsigned, Stream, void **,
                         void **);
  Code (*cuMemGetAllocationGranularity)(size_t *, const PageProperties *, int);
  Code (*cuMemAddressReserve)(Address *, size_t, size_t, Address,
                              unsigned long long);
  Code (*cuMemAddressFree)(Address, size_t);
  Code (*cuMemCreate)(PageHandle *, size_t, const PageProperties *,
                      unsigned long long);
  Code (*cuMemRelease)(PageHandle);
  Code (*cuMemMap)(Address, size_t, size_t, PageHandle, unsigned long long);
  Code (*cuMemUnmap)(Address, size_t);
  Code (*cuMemSetAccess)(Address, size_t, const Access *, size_t);

  /// Success, or an error that says what failed and why.
  Status check(Code code, const char *what) const;
};

/// The driver of this machine, initialised; the same for all threads. The error
/// says what is missing. ETC_CUDA_DRIVER names another library.
const Result<Driver> &findDriver();

/// Whether the driver can be loaded, without starting it.
Status findDriverLibrary();

/// A device and its primary context. Contexts belong to threads, and any
/// library may change a thread's at any time: whoever calls the driver enters
/// first.
class DeviceContext {
public:
  /// Enters it, too. The error says how many devices there are.
  static Result<DeviceContext> open(const Driver &driver, unsigned ordinal);

  /// Makes this context the calling thread's.
  Status enter() const;

  const Driver &driver() const { return *driver_; }
  Device device() const { return device_; }

private:
  const Driver *driver_ = nullptr;
  Device device_ = 0;
  Context context = nullptr;
};

/// Gives the thread that makes it, or calls note(), its context back in the
/// end. A context is what a framework on this thread takes for the current GPU.
class KeptContext {
public:
  KeptContext() = default;
  explicit KeptContext(const Driver *driver) { note(driver); }
  ~KeptContext();
  KeptContext(const KeptContext &) = delete;
  KeptContext &operator=(const KeptContext &) = delete;

  /// Null: there is no GPU to change to.
  void note(const Driver *used);

private:
  const Driver *driver = nullptr;
  Context context = nullptr;
};

} // namespace etc::runtime::cuda

#endif // ETC_RUNTIME_CORE_DEVICE_CUDADRIVER_H
