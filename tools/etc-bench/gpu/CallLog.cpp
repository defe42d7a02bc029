// A library to put before the CUDA driver and NCCL: it logs every call and
// hands it on, to the real ones as to doubles.
//
//   ETC_CUDA_DRIVER, ETC_NCCL                 name this library
//   ETC_LOGGED_CUDA_DRIVER, ETC_LOGGED_NCCL   what it hands calls on to;
//                                             default: libcuda.so.1,
//                                             libnccl.so.2
//   ETC_CALL_LOG                              a file that ends in .PID gets the
//   log
//
// A line is a thread's number, a time in ns, a call's name and, where the call
// goes to a stream, that.

#include "core/device/CudaDriver.h"
#include "core/transport/NcclLibrary.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <fstream>
#include <mutex>
#include <string>
#include <tuple>
#include <unistd.h>
#include <vector>

using namespace etc::runtime;
using cuda::Driver;
using nccl::Library;

namespace {

void *openLogged(const char *variable, const char *fallback) {
  const char *chosen = std::getenv(variable);
  void *handle = ::dlopen(chosen ? chosen : fallback, RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    std::fprintf(stderr, "call log: %s\n", ::dlerror());
  return handle;
}

void *find(bool isNccl, const char *name) {
  static void *const driver =
      openLogged("ETC_LOGGED_CUDA_DRIVER", "libcuda.so.1");
  static void *const library = openLogged("ETC_LOGGED_NCCL", "libnccl.so.2");
  void *handle = isNccl ? library : driver;
  void *address = handle ? ::dlsym(handle, name) : nullptr;
  if (!address) {
    std::fprintf(stderr, "call log: there is no %s\n", name);
    std::abort();
  }
  return address;
}

struct Entry {
  int thread;
  int64_t nanoseconds;
  std::string text;
};

struct Log {
  std::mutex mutex;
  std::vector<Entry> entries;

  ~Log() {
    std::lock_guard lock(mutex);
    write();
  }

  /// Processes may end without destructors.
  void write() {
    const char *path = std::getenv("ETC_CALL_LOG");
    if (path)
      std::ofstream(path + ("." + std::to_string(::getpid())), std::ios::app)
          << takeAll();
  }

  void add(std::string text) {
    static std::atomic<int> threads{0};
    thread_local const int thread = threads++;
    const int64_t now =
        std::chrono::steady_clock::now().time_since_epoch().count();
    std::lock_guard lock(mutex);
    constexpr size_t kMany = 10'000;
    const bool isEnd = text.starts_with("ncclCommFinalize") ||
                       text.starts_with("ncclCommAbort");
    entries.push_back({thread, now, std::move(text)});
    if (isEnd || (entries.size() >= kMany && std::getenv("ETC_CALL_LOG")))
      write();
  }

  std::string take() {
    std::lock_guard lock(mutex);
    return takeAll();
  }

  std::string takeAll() {
    std::string all;
    for (const Entry &entry : entries)
      all += std::to_string(entry.thread) + ' ' +
             std::to_string(entry.nanoseconds) + ' ' + entry.text + '\n';
    entries.clear();
    return all;
  }
};

Log &callLog() {
  static Log log;
  return log;
}

template <typename Function> struct Signature;
template <typename R, typename... Args> struct Signature<R (*)(Args...)> {
  template <size_t i> using Arg = std::tuple_element_t<i, std::tuple<Args...>>;
  using Return = R;

  static R call(bool isNccl, const char *name, Args... args) {
    std::string text = name;
    [[maybe_unused]] auto note = [&](auto arg) {
      if constexpr (std::is_same_v<decltype(arg), cuda::Stream>)
        text += ' ' + std::to_string(reinterpret_cast<uintptr_t>(arg));
    };
    (note(args), ...);
    callLog().add(std::move(text));
    return reinterpret_cast<R (*)(Args...)>(find(isNccl, name))(args...);
  }
};

} // namespace

extern "C" {

/// A line of one's own, by the thread that calls it.
__attribute__((visibility("default"))) void etcCallLogMark(const char *text) {
  callLog().add(text);
}
/// What was logged since the last call. The text lives until the next.
__attribute__((visibility("default"))) const char *etcCallLogTake() {
  static std::string taken;
  taken = callLog().take();
  return taken.c_str();
}

#define ETC_ARG(from, name, i) Signature<decltype(from::name)>::Arg<i>
#define ETC_LOG(from, name, parameters, ...)                                   \
  __attribute__((visibility("default")))                                       \
  Signature<decltype(from::name)>::Return name parameters {                    \
    return Signature<decltype(from::name)>::call(                              \
        std::is_same_v<from, Library>, #name __VA_OPT__(, ) __VA_ARGS__);      \
  }
#define ETC_LOG0(from, name) ETC_LOG(from, name, ())
#define ETC_LOG1(from, name) ETC_LOG(from, name, (ETC_ARG(from, name, 0) a), a)
#define ETC_LOG2(from, name)                                                   \
  ETC_LOG(from, name, (ETC_ARG(from, name, 0) a, ETC_ARG(from, name, 1) b), a, \
          b)
#define ETC_LOG3(from, name)                                                   \
  ETC_LOG(from, name,                                                          \
          (ETC_ARG(from, name, 0) a, ETC_ARG(from, name, 1) b,                 \
           ETC_ARG(from, name, 2) c),                                          \
          a, b, c)
#define ETC_LOG4(from, name)                                                   \
  ETC_LOG(from, name,                                                          \
          (ETC_ARG(from, name, 0) a, ETC_ARG(from, name, 1) b,                 \
           ETC_ARG(from, name, 2) c, ETC_ARG(from, name, 3) d),                \
          a, b, c, d)
#define ETC_LOG5(from, name)                                                   \
  ETC_LOG(from, name,                                                          \
          (ETC_ARG(from, name, 0) a, ETC_ARG(from, name, 1) b,                 \
           ETC_ARG(from, name, 2) c, ETC_ARG(from, name, 3) d,                 \
           ETC_ARG(from, name, 4) e),                                          \
          a, b, c, d, e)
#define ETC_LOG6(from, name)                                                   \
  ETC_LOG(from, name,                                                          \
          (ETC_ARG(from, name, 0) a, ETC_ARG(from, name, 1) b,                 \
           ETC_ARG(from, name, 2) c, ETC_ARG(from, name, 3) d,                 \
           ETC_ARG(from, name, 4) e, ETC_ARG(from, name, 5) f),                \
          a, b, c, d, e, f)

ETC_LOG1(Driver, cuInit)
ETC_LOG1(Driver, cuDriverGetVersion)
ETC_LOG2(Driver, cuGetErrorString)
ETC_LOG1(Driver, cuDeviceGetCount)
ETC_LOG2(Driver, cuDeviceGet)
ETC_LOG3(Driver, cuDeviceGetName)
ETC_LOG3(Driver, cuDeviceGetAttribute)
ETC_LOG3(Driver, cuDeviceGetPCIBusId)
ETC_LOG2(Driver, cuDeviceGetUuid_v2)
ETC_LOG3(Driver, cuDeviceCanAccessPeer)
ETC_LOG2(Driver, cuDevicePrimaryCtxRetain)
ETC_LOG1(Driver, cuCtxSetCurrent)
ETC_LOG1(Driver, cuCtxGetCurrent)
ETC_LOG2(Driver, cuMemGetInfo_v2)
ETC_LOG2(Driver, cuMemAlloc_v2)
ETC_LOG1(Driver, cuMemFree_v2)
ETC_LOG3(Driver, cuMemAllocAsync)
ETC_LOG2(Driver, cuMemFreeAsync)
ETC_LOG3(Driver, cuMemHostAlloc)
ETC_LOG1(Driver, cuMemFreeHost)
ETC_LOG4(Driver, cuMemcpyHtoDAsync_v2)
ETC_LOG4(Driver, cuMemcpyDtoHAsync_v2)
ETC_LOG4(Driver, cuMemcpyDtoDAsync_v2)
ETC_LOG4(Driver, cuMemsetD8Async)
ETC_LOG2(Driver, cuStreamCreate)
ETC_LOG1(Driver, cuStreamDestroy_v2)
ETC_LOG1(Driver, cuStreamQuery)
ETC_LOG1(Driver, cuStreamSynchronize)
ETC_LOG3(Driver, cuStreamWaitEvent)
ETC_LOG2(Driver, cuEventCreate)
ETC_LOG1(Driver, cuEventDestroy_v2)
ETC_LOG2(Driver, cuEventRecord)
ETC_LOG1(Driver, cuEventQuery)
ETC_LOG1(Driver, cuEventSynchronize)
ETC_LOG2(Driver, cuModuleLoadData)
ETC_LOG1(Driver, cuModuleUnload)
ETC_LOG3(Driver, cuModuleGetFunction)
ETC_LOG(Driver, cuLaunchKernel,
        (cuda::Function a, unsigned b, unsigned c, unsigned d, unsigned e,
         unsigned f, unsigned g, unsigned h, cuda::Stream i, void **j,
         void **k),
        a, b, c, d, e, f, g, h, i, j, k)
ETC_LOG3(Driver, cuMemGetAllocationGranularity)
ETC_LOG5(Driver, cuMemAddressReserve)
ETC_LOG2(Driver, cuMemAddressFree)
ETC_LOG4(Driver, cuMemCreate)
ETC_LOG1(Driver, cuMemRelease)
ETC_LOG5(Driver, cuMemMap)
ETC_LOG2(Driver, cuMemUnmap)
ETC_LOG4(Driver, cuMemSetAccess)

ETC_LOG1(Library, ncclGetVersion)
ETC_LOG1(Library, ncclGetUniqueId)
ETC_LOG5(Library, ncclCommInitRankConfig)
ETC_LOG2(Library, ncclCommGetAsyncError)
ETC_LOG2(Library, ncclCommCount)
ETC_LOG1(Library, ncclCommAbort)
ETC_LOG1(Library, ncclCommFinalize)
ETC_LOG1(Library, ncclCommDestroy)
ETC_LOG0(Library, ncclGroupStart)
ETC_LOG0(Library, ncclGroupEnd)
ETC_LOG6(Library, ncclSend)
ETC_LOG6(Library, ncclRecv)
ETC_LOG1(Library, ncclGetErrorString)
ETC_LOG1(Library, ncclGetLastError)

} // extern "C"
