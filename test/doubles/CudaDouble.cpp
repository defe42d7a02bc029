// The CUDA driver's half of the test double: memory is host memory, the kernel
// is run by its own body, thread by thread.

#include "GpuDouble.h"

#include "device/CudaDriver.h"
#include "pack/MoveUnits.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sys/mman.h>
#include <unistd.h>

using namespace etc::runtime;
using namespace etc::runtime::cuda;
using namespace etc::test;

namespace {

constexpr size_t kPage = 1 << 16; // smaller than a GPU's, for small tests
constexpr Code kInvalid = 1, kOutOfMemory = 2, kInvalidContext = 201;

std::atomic<unsigned> launches{0};
std::map<Address, PageHandle> mapped;
std::map<PageHandle, bool> pages; // whether mapped

DoubleStream *known(Stream stream) {
  return reinterpret_cast<DoubleStream *>(stream);
}

Code fail(const char *what) {
  std::lock_guard lock(doubleState().mutex);
  recordFault(what);
  return kInvalid;
}

/// Contexts belong to threads: the driver's documentation lists
/// CUDA_ERROR_INVALID_CONTEXT for everything that asks here. Virtual memory
/// management does not ask: it names the device.
bool hasContext() {
  if (doubleDevice() >= 0)
    return true;
  fail("a call of a thread without a context");
  return false;
}

/// The driver may wait for the whole device before it allocates or frees (CUDA
/// C++ Programming Guide, "Implicit Synchronization"), and a transfer whose
/// peer is gone never ends. With the lock held.
void checkIdle() {
  for (DoubleStream *stream : doubleState().streams)
    if (stream->device == doubleDevice() && stream->pending > 0)
      recordFault(
          "memory comes or goes while a transfer of its device is under way");
}

void checkUnused(Address data, size_t bytes) {
  if (isUnderTransfer(reinterpret_cast<void *>(data), bytes))
    recordFault("memory goes under a transfer");
}

bool isDone(const DoubleEvent &event) {
  return !event.stream || event.stream->done >= event.transfers;
}

/// The first of the streams that a stream waits for, itself included; null
/// where it can go on. With the lock held.
DoubleStream *blocker(DoubleStream *stream) {
  if (stream->pending > 0)
    return stream;
  for (const DoubleEvent &event : stream->awaited)
    if (!isDone(event))
      return event.stream;
  stream->awaited.clear();
  return nullptr;
}

/// Work is in order: what comes after a transfer waits for it.
void waitFor(Stream stream) {
  if (!stream)
    return;
  std::unique_lock lock(doubleState().mutex);
  while (DoubleStream *other = blocker(known(stream))) {
    onStreamWait(other);
    if (blocker(known(stream)))
      doubleState().changed.wait(lock);
  }
}

DoubleEvent *known(Event event) {
  return reinterpret_cast<DoubleEvent *>(event);
}

} // namespace

thread_local int currentDevice = -1;

int etc::test::doubleDevice() { return currentDevice; }

DoubleState &etc::test::doubleState() {
  static auto *state = new DoubleState; // outlives everything
  return *state;
}

void etc::test::recordFault(const std::string &what) {
  if (doubleState().fault.empty())
    doubleState().fault = what;
}

extern "C" {

const char *etcDoubleTakeFault() {
  static std::string taken;
  std::lock_guard lock(doubleState().mutex);
  taken = std::move(doubleState().fault);
  doubleState().fault.clear();
  return taken.c_str();
}
unsigned etcDoubleLaunches() { return launches; }
unsigned etcDoubleMappedPages() { return mapped.size(); }

Code cuInit(unsigned) { return kSuccess; }
Code cuDriverGetVersion(int *version) { return *version = 13000, kSuccess; }
Code cuGetErrorString(Code code, const char **text) {
  *text = code == kOutOfMemory ? "out of memory" : "invalid argument";
  return kSuccess;
}
Code cuDeviceGetCount(int *count) {
  const char *chosen = std::getenv("ETC_DOUBLE_GPUS");
  *count = chosen ? std::atoi(chosen) : 1;
  return kSuccess;
}
Code cuDeviceGet(Device *device, int ordinal) {
  const char *lost = std::getenv("ETC_DOUBLE_LOST_GPU");
  *device = ordinal;
  return lost && std::atoi(lost) == ordinal ? kInvalid : kSuccess;
}
Code cuDeviceGetName(char *name, int size, Device) {
  std::strncpy(name, "test double", size);
  return kSuccess;
}
Code cuDeviceGetAttribute(int *value, int attribute, Device) {
  const bool hasPages = !std::getenv("ETC_DOUBLE_NO_PAGES");
  const char *capability = std::getenv("ETC_DOUBLE_CAPABILITY");
  const int version = capability ? std::atoi(capability) : 90;
  *value = attribute == kVirtualMemory     ? hasPages
           : attribute == kCapabilityMajor ? version / 10
           : attribute == kCapabilityMinor ? version % 10
                                           : 2;
  return kSuccess;
}
Code cuDevicePrimaryCtxRetain(Context *context, Device device) {
  return *context = reinterpret_cast<Context>(uintptr_t(device) + 1), kSuccess;
}
Code cuCtxSetCurrent(Context context) {
  currentDevice = static_cast<int>(reinterpret_cast<uintptr_t>(context)) - 1;
  return kSuccess;
}
Code cuMemGetInfo_v2(size_t *free, size_t *total) {
  if (!hasContext())
    return kInvalidContext;
  return *free = *total = size_t{1} << 40, kSuccess;
}

static Code allocate(Address *data, size_t bytes) {
  if (!hasContext())
    return kInvalidContext;
  void *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  *data = reinterpret_cast<Address>(memory);
  return memory ? kSuccess : kOutOfMemory;
}
static Code release(void *data, bool waits) {
  if (!hasContext())
    return kInvalidContext;
  {
    std::lock_guard lock(doubleState().mutex);
    if (waits)
      checkIdle();
    if (isUnderTransfer(data, 1))
      recordFault("memory goes under a transfer");
  }
  return std::free(data), kSuccess;
}
Code cuMemAlloc_v2(Address *data, size_t bytes) {
  {
    std::lock_guard lock(doubleState().mutex);
    checkIdle();
  }
  return allocate(data, bytes);
}
Code cuMemFree_v2(Address data) {
  return release(reinterpret_cast<void *>(data), true);
}
Code cuMemAllocAsync(Address *data, size_t bytes, Stream) {
  return allocate(data, bytes);
}
Code cuMemFreeAsync(Address data, Stream) {
  return release(reinterpret_cast<void *>(data), false);
}
Code cuMemHostAlloc(void **data, size_t bytes, unsigned) {
  if (!hasContext())
    return kInvalidContext;
  std::lock_guard lock(doubleState().mutex);
  checkIdle();
  return (*data = std::malloc(bytes)) ? kSuccess : kOutOfMemory;
}
Code cuMemFreeHost(void *data) { return release(data, true); }

static Code copy(void *to, const void *from, size_t bytes, Stream stream) {
  if (!hasContext())
    return kInvalidContext;
  waitFor(stream);
  std::memcpy(to, from, bytes);
  return kSuccess;
}
Code cuMemcpyHtoDAsync_v2(Address to, const void *from, size_t bytes,
                          Stream stream) {
  return copy(reinterpret_cast<void *>(to), from, bytes, stream);
}
Code cuMemcpyDtoHAsync_v2(void *to, Address from, size_t bytes, Stream stream) {
  return copy(to, reinterpret_cast<void *>(from), bytes, stream);
}
Code cuMemcpyDtoDAsync_v2(Address to, Address from, size_t bytes,
                          Stream stream) {
  return copy(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from),
              bytes, stream);
}
Code cuMemsetD8Async(Address to, unsigned char value, size_t bytes,
                     Stream stream) {
  if (!hasContext())
    return kInvalidContext;
  waitFor(stream);
  std::memset(reinterpret_cast<void *>(to), value, bytes);
  return kSuccess;
}

Code cuStreamCreate(Stream *stream, unsigned) {
  if (!hasContext())
    return kInvalidContext;
  auto *made = new DoubleStream;
  made->device = doubleDevice();
  std::lock_guard lock(doubleState().mutex);
  doubleState().streams.insert(made);
  *stream = reinterpret_cast<Stream>(made);
  return kSuccess;
}
Code cuStreamDestroy_v2(Stream stream) {
  std::lock_guard lock(doubleState().mutex);
  if (doubleState().streams.erase(known(stream)) == 0)
    return recordFault("a stream is destroyed twice"), kInvalid;
  if (known(stream)->pending == 0) // else transfers still point to it
    delete known(stream);
  return kSuccess;
}
Code cuStreamQuery(Stream stream) {
  if (!hasContext())
    return kInvalidContext;
  std::lock_guard lock(doubleState().mutex);
  DoubleStream *other = blocker(known(stream));
  if (!other)
    return kSuccess;
  onStreamWait(other);
  return blocker(known(stream)) ? kNotReady : kSuccess;
}
Code cuStreamSynchronize(Stream stream) {
  return hasContext() ? (waitFor(stream), kSuccess) : kInvalidContext;
}

Code cuStreamWaitEvent(Stream stream, Event event, unsigned) {
  if (!hasContext())
    return kInvalidContext;
  std::lock_guard lock(doubleState().mutex);
  if (!isDone(*known(event)))
    known(stream)->awaited.push_back(*known(event));
  return kSuccess;
}
Code cuEventCreate(Event *event, unsigned) {
  if (!hasContext())
    return kInvalidContext;
  *event = reinterpret_cast<Event>(new DoubleEvent);
  return kSuccess;
}
Code cuEventDestroy_v2(Event event) {
  if (!hasContext())
    return kInvalidContext;
  delete known(event);
  return kSuccess;
}
Code cuEventRecord(Event event, Stream stream) {
  if (!hasContext())
    return kInvalidContext;
  std::lock_guard lock(doubleState().mutex);
  DoubleStream &recorded = *known(stream);
  *known(event) = {&recorded, recorded.done + recorded.pending};
  return kSuccess;
}
Code cuEventQuery(Event event) {
  if (!hasContext())
    return kInvalidContext;
  std::lock_guard lock(doubleState().mutex);
  if (isDone(*known(event)))
    return kSuccess;
  onStreamWait(known(event)->stream);
  return isDone(*known(event)) ? kSuccess : kNotReady;
}
Code cuEventSynchronize(Event event) {
  if (!hasContext())
    return kInvalidContext;
  std::unique_lock lock(doubleState().mutex);
  while (!isDone(*known(event))) {
    onStreamWait(known(event)->stream);
    if (!isDone(*known(event)))
      doubleState().changed.wait(lock);
  }
  return kSuccess;
}

Code cuModuleLoadData(Module *module, const void *image) {
  if (!hasContext())
    return kInvalidContext;
  *module = nullptr;
  return image ? kSuccess : fail("no kernel image is loaded");
}
Code cuModuleGetFunction(Function *function, Module, const char *name) {
  *function = reinterpret_cast<Function>(1);
  return std::strcmp(name, "etc_run_moves") == 0
             ? kSuccess
             : fail("an unknown kernel is asked for");
}
Code cuLaunchKernel(Function, unsigned blocks, unsigned, unsigned,
                    unsigned threads, unsigned, unsigned, unsigned,
                    Stream stream, void **arguments, void **) {
  if (!hasContext())
    return kInvalidContext;
  waitFor(stream);
  if (blocks == 0 || threads != kBlockThreads)
    return fail("a launch of another shape than the kernel's");
  ++launches;
  auto *moves = *static_cast<const Move **>(arguments[0]);
  auto *firstTile = *static_cast<const uint64_t **>(arguments[1]);
  auto count = *static_cast<const uint32_t *>(arguments[2]);
  auto *sums = *static_cast<uint64_t **>(arguments[3]);
  for (uint64_t tile = 0; tile != firstTile[count]; ++tile) {
    const uint32_t position = moveOfTile(firstTile, count, tile);
    const Move &move = moves[position];
    for (uint32_t thread = 0; thread != kBlockThreads; ++thread) {
      uint64_t sum = runTile(move, tile - firstTile[position], thread);
      if (move.sum != kNoSum)
        sums[move.sum] += sum;
    }
  }
  return kSuccess;
}

Code cuMemGetAllocationGranularity(size_t *bytes, const PageProperties *, int) {
  return *bytes = kPage, kSuccess;
}
Code cuMemAddressReserve(Address *data, size_t bytes, size_t, Address,
                         unsigned long long) {
  void *space = ::mmap(nullptr, bytes, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (space == MAP_FAILED)
    return kOutOfMemory;
  *data = (reinterpret_cast<Address>(space) + kPage - 1) / kPage * kPage;
  return kSuccess;
}
Code cuMemAddressFree(Address, size_t) { return kSuccess; } // a test's memory
Code cuMemCreate(PageHandle *page, size_t bytes, const PageProperties *,
                 unsigned long long) {
  int file = ::memfd_create("etc-gpu-page", 0);
  if (file < 0 || ::ftruncate(file, static_cast<off_t>(bytes)) != 0)
    return kOutOfMemory;
  std::lock_guard lock(doubleState().mutex);
  *page = static_cast<PageHandle>(file);
  pages[*page] = false;
  return kSuccess;
}
Code cuMemRelease(PageHandle page) {
  std::lock_guard lock(doubleState().mutex);
  auto entry = pages.find(page);
  if (entry == pages.end() || entry->second)
    return recordFault("a page is released that is gone or mapped"), kInvalid;
  pages.erase(entry);
  ::close(static_cast<int>(page));
  return kSuccess;
}
Code cuMemMap(Address data, size_t bytes, size_t, PageHandle page,
              unsigned long long) {
  std::lock_guard lock(doubleState().mutex);
  if (mapped.count(data) || !pages.count(page) || pages[page])
    return recordFault("a page or an address is mapped twice"), kInvalid;
  ::mmap(reinterpret_cast<void *>(data), bytes, PROT_NONE,
         MAP_SHARED | MAP_FIXED, static_cast<int>(page), 0);
  mapped[data] = page;
  pages[page] = true;
  return kSuccess;
}
Code cuMemUnmap(Address data, size_t bytes) {
  std::lock_guard lock(doubleState().mutex);
  auto entry = mapped.find(data);
  if (entry == mapped.end())
    return recordFault("an address is unmapped that is not mapped"), kInvalid;
  checkUnused(data, bytes);
  pages[entry->second] = false;
  mapped.erase(entry);
  ::mmap(reinterpret_cast<void *>(data), bytes, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  return kSuccess;
}
Code cuMemSetAccess(Address data, size_t bytes, const Access *, size_t) {
  return ::mprotect(reinterpret_cast<void *>(data), bytes,
                    PROT_READ | PROT_WRITE) == 0
             ? kSuccess
             : kInvalid;
}

} // extern "C"
