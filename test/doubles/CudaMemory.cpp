// The driver's double: memory.

#include "CallLog.h"
#include "CudaTypes.h"
#include "GpuDouble.h"

#include <cstdlib>
#include <cstring>
#include <unordered_map>

using namespace etc::test;

namespace {

struct Allocation {
  int device;
  uint64_t first; // page of the segment
  size_t bytes;
};
struct PhysicalPages {
  int device;
  uint64_t first;
  size_t bytes;
  unsigned mappings = 0;
  bool isReleased = false;
};

std::mutex mutex;
std::unordered_map<Address, Allocation> allocations;
std::unordered_map<uint64_t, PhysicalPages> handles;
std::unordered_map<Address, std::pair<uint64_t, size_t>> mapped; // to handles
uint64_t nextHandle = 1;

size_t pagesOf(size_t bytes) { return (bytes + kPageBytes - 1) / kPageBytes; }

Result misuse(const char *what) {
  fault(what);
  return InvalidValue;
}

/// What may wait for the whole device (CUDA C++ Programming Guide 13.0,
/// "Implicit Synchronization": device memory allocation, page-locked host
/// memory allocation) must not be called while a transfer is under way, whose
/// peer may be gone.
void checkIdle(const char *call) {
  logCall("wait-device", call);
  if (Schedule::get().hasTransfers(currentDevice()))
    fault("memory comes or goes while a transfer of its device is under way");
}

void checkUnused(Range range) {
  if (Schedule::get().isInUse(range))
    fault("memory goes under a transfer");
}

Result allocate(Address *data, size_t bytes, bool isMapped) {
  DeviceMemory &memory = DeviceMemory::get();
  if (bytes == 0)
    return InvalidValue;
  const int64_t first = memory.create(currentDevice(), pagesOf(bytes));
  if (first < 0)
    return OutOfMemory;
  const Allocation made{currentDevice(), static_cast<uint64_t>(first), bytes};
  *data = memory.reserve(bytes);
  if (*data == 0)
    return OutOfMemory;
  if (isMapped)
    memory.map(*data, {made.first, bytes, made.device, true});
  std::lock_guard lock(mutex);
  allocations[*data] = made;
  return Success;
}

bool takeAllocation(Address data, Allocation &taken) {
  std::lock_guard lock(mutex);
  auto entry = allocations.find(data);
  if (entry == allocations.end())
    return false;
  taken = entry->second;
  allocations.erase(entry);
  return true;
}

void release(Address data, const Allocation &old) {
  DeviceMemory::get().unmap(data, old.bytes);
  DeviceMemory::get().destroy(old.device, old.first, pagesOf(old.bytes));
  DeviceMemory::get().giveBack(data, old.bytes);
}

/// Allocation and release in the order of a stream.
class PoolWork final : public Work {
public:
  PoolWork(Address data, Allocation allocation, bool isTaken)
      : data(data), allocation(allocation), isTaken(isTaken) {}

  Step step(Random &) override {
    if (isTaken)
      DeviceMemory::get().map(
          data, {allocation.first, allocation.bytes, allocation.device, true});
    else
      release(data, allocation);
    return Step::Done;
  }

private:
  const Address data;
  const Allocation allocation;
  const bool isTaken;
};

void dropHandle(uint64_t handle) {
  PhysicalPages &pages = handles[handle];
  if (!pages.isReleased || pages.mappings > 0)
    return;
  DeviceMemory::get().destroy(pages.device, pages.first, pagesOf(pages.bytes));
  handles.erase(handle);
}

} // namespace

extern "C" {

int etcDoubleHolder() {
  return __atomic_load_n(&Segment::get().header().mutex.__data.__owner,
                         __ATOMIC_SEQ_CST);
}
unsigned etcDoubleMappedPages() { return DeviceMemory::get().mappedPages(); }
void etcDoubleRead(void *host, const void *device, size_t bytes) {
  if (!copyMemory(reinterpret_cast<Address>(host),
                  reinterpret_cast<Address>(device), bytes, -1))
    fault("a test reads memory that is not there");
}
void etcDoubleWrite(void *device, const void *host, size_t bytes) {
  if (!copyMemory(reinterpret_cast<Address>(device),
                  reinterpret_cast<Address>(host), bytes, -1))
    fault("a test writes memory that is not there");
}

int cuMemGetInfo_v2(size_t *free, size_t *total) {
  if (int code = checkContext("cuMemGetInfo"); code != Success)
    return code;
  SharedLock lock;
  *total = size_t{80} << 30;
  *free =
      *total - Segment::get().header().usedPages[currentDevice()] * kPageBytes;
  return Success;
}

int cuMemAlloc_v2(Address *data, size_t bytes) {
  if (int code = checkContext("cuMemAlloc"); code != Success)
    return code;
  logCall("create", "cuMemAlloc");
  checkIdle("cuMemAlloc");
  return allocate(data, bytes, true);
}
int cuMemFree_v2(Address data) {
  if (int code = checkContext("cuMemFree"); code != Success)
    return code;
  if (data == 0)
    return Success;
  logCall("release", "cuMemFree");
  Allocation old{};
  if (!takeAllocation(data, old))
    return misuse("memory is freed that is not allocated");
  checkUnused({data, old.bytes});
  checkIdle("cuMemFree");
  release(data, old);
  return Success;
}
int cuMemAllocAsync(Address *data, size_t bytes, StreamHandle handle) {
  StreamHandle stream = findStream(handle, "cuMemAllocAsync");
  if (!stream)
    return InvalidHandle;
  logCall("create", "cuMemAllocAsync");
  if (Result code = allocate(data, bytes, false); code != Success)
    return code;
  Allocation made{};
  {
    std::lock_guard lock(mutex);
    made = allocations[*data];
  }
  Schedule::get().enqueue(stream,
                          std::make_shared<PoolWork>(*data, made, true));
  return Success;
}
int cuMemFreeAsync(Address data, StreamHandle handle) {
  StreamHandle stream = findStream(handle, "cuMemFreeAsync");
  if (!stream)
    return InvalidHandle;
  logCall("release", "cuMemFreeAsync");
  Allocation old{};
  if (!takeAllocation(data, old))
    return misuse("memory is freed that is not allocated");
  Schedule::get().enqueue(stream, std::make_shared<PoolWork>(data, old, false));
  return Success;
}
int cuMemHostAlloc(void **data, size_t bytes, unsigned) {
  if (int code = checkContext("cuMemHostAlloc"); code != Success)
    return code;
  logCall("create", "cuMemHostAlloc");
  checkIdle("cuMemHostAlloc");
  *data = std::malloc(bytes);
  return *data ? Success : OutOfMemory;
}
int cuMemFreeHost(void *data) {
  if (int code = checkContext("cuMemFreeHost"); code != Success)
    return code;
  logCall("release", "cuMemFreeHost");
  checkIdle("cuMemFreeHost");
  checkUnused({reinterpret_cast<Address>(data), 1});
  std::free(data);
  return Success;
}

int cuMemGetAllocationGranularity(size_t *bytes,
                                  const CudaAllocationProperties *properties,
                                  int) {
  return *bytes = granularityOf(properties->location.id), Success;
}
int cuMemAddressReserve(Address *data, size_t bytes, size_t, Address,
                        unsigned long long) {
  if (bytes == 0 || bytes % kPageBytes != 0)
    return misuse("addresses that are no whole pages are reserved");
  logCall("create", "cuMemAddressReserve");
  *data = DeviceMemory::get().reserve(bytes);
  return *data ? Success : OutOfMemory;
}
int cuMemAddressFree(Address data, size_t bytes) {
  return DeviceMemory::get().giveBack(data, bytes), Success;
}

int cuMemCreate(unsigned long long *handle, size_t bytes,
                const CudaAllocationProperties *properties,
                unsigned long long) {
  constexpr int pinned = 1, onDevice = 1;
  const int device = properties->location.id;
  if (bytes == 0 || bytes % granularityOf(device) != 0 ||
      properties->type != pinned || properties->location.type != onDevice)
    return misuse("pages of another kind than the device's are created");
  logCall("create", "cuMemCreate");
  const int64_t first = DeviceMemory::get().create(device, bytes / kPageBytes);
  if (first < 0)
    return OutOfMemory;
  std::lock_guard lock(mutex);
  handles[ *handle = nextHandle++] = {device, static_cast<uint64_t>(first),
                                      bytes};
  return Success;
}
/// The memory stays until nothing maps it (CUDA Driver API 13.0,
/// cuMemRelease); whoever releases mapped pages here has lost sight of them.
int cuMemRelease(unsigned long long handle) {
  logCall("release", "cuMemRelease");
  std::lock_guard lock(mutex);
  auto entry = handles.find(handle);
  if (entry == handles.end() || entry->second.mappings > 0 ||
      entry->second.isReleased)
    return misuse("a page is released that is gone or mapped");
  entry->second.isReleased = true;
  dropHandle(handle);
  return Success;
}
int cuMemMap(Address data, size_t bytes, size_t, unsigned long long handle,
             unsigned long long) {
  logCall("map", "cuMemMap");
  std::lock_guard lock(mutex);
  auto entry = handles.find(handle);
  if (entry == handles.end() || entry->second.bytes != bytes ||
      entry->second.mappings > 0 || data % kPageBytes != 0 ||
      !DeviceMemory::get().map(
          data, {entry->second.first, bytes, entry->second.device, false}))
    return misuse("a page or an address is mapped twice");
  ++entry->second.mappings;
  mapped[data] = {handle, bytes};
  return Success;
}
int cuMemUnmap(Address data, size_t bytes) {
  logCall("unmap", "cuMemUnmap");
  checkUnused({data, bytes});
  std::lock_guard lock(mutex);
  auto entry = mapped.find(data);
  if (entry == mapped.end() || entry->second.second != bytes ||
      !DeviceMemory::get().unmap(data, bytes))
    return misuse("an address is unmapped that is not mapped");
  const uint64_t handle = entry->second.first;
  --handles[handle].mappings;
  mapped.erase(entry);
  return Success;
}
int cuMemSetAccess(Address data, size_t bytes, const CudaAccess *access,
                   size_t count) {
  constexpr int readWrite = 3, onDevice = 1;
  DeviceMemory &memory = DeviceMemory::get();
  const int owner = memory.deviceOf(data);
  if (bytes == 0 || owner < 0 || !memory.isMapped(data, bytes, owner))
    return misuse("access is granted to memory that is not mapped");
  bool isForOwner = false;
  for (size_t i = 0; i != count; ++i) {
    const auto &[location, flags] = access[i];
    if (location.type != onDevice || flags != readWrite)
      return misuse("access of another kind than a device's is granted");
    if (!canAccess(location.id, owner))
      return misuse("access is granted to a device that cannot have it");
    if (data % granularityOf(location.id) != 0 ||
        bytes % granularityOf(location.id) != 0)
      return misuse("access is granted to pages that a device cannot map");
    isForOwner |= location.id == owner;
  }
  if (!isForOwner)
    return misuse("no device may use its pages");
  for (size_t i = 0; i != count; ++i)
    memory.addAccess(data, bytes, access[i].location.id);
  return Success;
}

} // extern "C"
