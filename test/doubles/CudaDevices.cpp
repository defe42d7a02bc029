// The driver's double: devices, contexts, errors, modules.

#include "CallLog.h"
#include "CudaTypes.h"
#include "GpuDouble.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <unistd.h>

using namespace etc::test;

namespace {

/// -2: the context was taken off this thread; it has none at first.
thread_local int device = -1;

int startedBy = 0;

std::mutex mutex;
std::set<Module *> modules;

int numberFrom(const char *variable, int otherwise) {
  const char *value = std::getenv(variable);
  return value && *value ? std::atoi(value) : otherwise;
}

int deviceCount() { return numberFrom("ETC_DOUBLE_GPUS", 1); }

/// Devices are partitions of a GPU, so many of each: MLOPart's, or MIG's.
int partitions() { return std::max(1, numberFrom("ETC_DOUBLE_PARTITIONS", 1)); }
bool areOfMig() { return std::getenv("ETC_DOUBLE_MIG") != nullptr; }
int gpuOf(int number) { return number / partitions(); }

int writeUuid(CudaUuid *uuid, const std::string &words) {
  *uuid = {};
  words.copy(reinterpret_cast<char *>(uuid->bytes), sizeof uuid->bytes - 1);
  return Success;
}
int writePartition(CudaUuid *uuid, int number) {
  return writeUuid(uuid, "device " + std::to_string(number));
}

bool isKnown(int number) {
  return number >= 0 && number < deviceCount() &&
         number < static_cast<int>(kMaxDevices);
}

} // namespace

int etc::test::currentDevice() { return device; }

bool etc::test::canAccess(Device number, Device peer) {
  return isKnown(number) && isKnown(peer) &&
         (number == peer ||
          !(areOfMig() || std::getenv("ETC_DOUBLE_NO_PEERS")));
}

Module *etc::test::findModule(void *handle, int ofDevice) {
  std::lock_guard lock(mutex);
  auto *module = static_cast<Module *>(handle);
  return modules.count(module) && module->device == ofDevice ? module : nullptr;
}

Result etc::test::checkContext(const char *call) {
  if (startedBy != ::getpid()) {
    fault(std::string(call) + " before cuInit in this process");
    return NotInitialized;
  }
  if (device < 0) {
    fault("a call of a thread without a context");
    return InvalidContext;
  }
  return Schedule::get().stateOf(device);
}

extern "C" {

const char *etcDoubleTakeFault() {
  static std::string taken;
  SharedLock lock;
  char *fault = Segment::get().header().fault;
  taken = fault;
  fault[0] = 0;
  return taken.c_str();
}
unsigned etcDoubleModules() {
  std::lock_guard lock(mutex);
  return static_cast<unsigned>(modules.size());
}
void etcDoubleSeed(uint64_t seed) { Schedule::get().seed(seed); }
void etcDoubleOneQueue(bool isShared) { Schedule::get().shareQueue(isShared); }

/// A driver that was started does not survive a fork (CUDA C++ Programming
/// Guide 13.0, "Initialization").
int cuInit(unsigned) {
  if (startedBy != 0 && startedBy != ::getpid()) {
    fault("cuInit in a process forked from one that had called it");
    return NotInitialized;
  }
  startedBy = ::getpid();
  SharedLock lock;
  (void)Segment::get().self();
  return Success;
}
int cuDriverGetVersion(int *version) { return *version = 13000, Success; }
int cuGetErrorString(int code, const char **text) {
  *text = code == OutOfMemory      ? "out of memory"
          : code == NotInitialized ? "initialization error"
          : code == InvalidDevice  ? "invalid device ordinal"
          : code == InvalidContext ? "invalid device context"
          : code == InvalidHandle  ? "invalid resource handle"
          : code == NotFound       ? "named symbol not found"
          : code == IllegalAddress ? "an illegal memory access was encountered"
          : code == MisalignedAddress ? "misaligned address"
                                      : "invalid argument";
  return Success;
}
int cuDeviceGetCount(int *count) { return *count = deviceCount(), Success; }
int cuDeviceGet(Device *found, int ordinal) {
  *found = ordinal;
  return isKnown(ordinal) && numberFrom("ETC_DOUBLE_LOST_GPU", -1) != ordinal
             ? Success
             : InvalidValue;
}
int cuDeviceGetName(char *name, int size, Device) {
  std::snprintf(name, static_cast<size_t>(size), "test double");
  return Success;
}
int cuDeviceGetPCIBusId(char *id, int size, Device number) {
  std::snprintf(id, static_cast<size_t>(size), "0000:%02x:00.0", gpuOf(number));
  return isKnown(number) ? Success : InvalidDevice;
}
/// A partition of MLOPart is a GPU of its own here.
int cuDeviceGetUuid(CudaUuid *uuid, Device number) {
  if (!isKnown(number))
    return InvalidDevice;
  return areOfMig() ? writeUuid(uuid, "whole " + std::to_string(gpuOf(number)))
                    : writePartition(uuid, number);
}
int cuDeviceGetUuid_v2(CudaUuid *uuid, Device number) {
  return isKnown(number) ? writePartition(uuid, number) : InvalidDevice;
}
int cuDeviceGetAttribute(int *value, int attribute, Device) {
  const int capability = numberFrom("ETC_DOUBLE_CAPABILITY", 90);
  switch (attribute) {
  case VirtualMemoryManagement:
    *value = std::getenv("ETC_DOUBLE_NO_PAGES") == nullptr;
    return Success;
  case ComputeCapabilityMajor:
    *value = capability / 10;
    return Success;
  case ComputeCapabilityMinor:
    *value = capability % 10;
    return Success;
  default: // multiprocessors, too
    *value = 2;
    return Success;
  }
}
/// Not of itself, which takes no peer.
int cuDeviceCanAccessPeer(int *isPossible, Device number, Device peer) {
  if (!isKnown(number) || !isKnown(peer))
    return InvalidDevice;
  return *isPossible = number != peer && canAccess(number, peer), Success;
}

int cuDevicePrimaryCtxRetain(ContextHandle *context, Device number) {
  if (!isKnown(number))
    return InvalidValue;
  *context = reinterpret_cast<ContextHandle>(uintptr_t(number) + 1);
  return Success;
}
int cuDevicePrimaryCtxRelease_v2(Device) { return Success; }
int cuCtxSetCurrent(ContextHandle context) {
  device = static_cast<int>(reinterpret_cast<uintptr_t>(context)) - 1;
  return Success;
}
int cuCtxGetCurrent(ContextHandle *context) {
  *context = reinterpret_cast<ContextHandle>(intptr_t(device) + 1);
  return Success;
}
int cuCtxGetDevice(Device *current) {
  if (int code = checkContext("cuCtxGetDevice"); code != Success)
    return code;
  return *current = device, Success;
}
int cuCtxSynchronize() {
  if (int code = checkContext("cuCtxSynchronize"); code != Success)
    return code;
  logCall("wait-device", "cuCtxSynchronize");
  Schedule::get().waitForDevice(device);
  return Schedule::get().stateOf(device);
}

int cuModuleLoadData(void **module, const void *image) {
  if (int code = checkContext("cuModuleLoadData"); code != Success)
    return code;
  logCall("create", "cuModuleLoadData");
  if (!image) {
    fault("no kernel image is loaded");
    return InvalidValue;
  }
  std::lock_guard lock(mutex);
  *module = *modules.insert(new Module{device}).first;
  return Success;
}
int cuModuleUnload(void *handle) {
  if (int code = checkContext("cuModuleUnload"); code != Success)
    return code;
  logCall("release", "cuModuleUnload");
  Module *module = findModule(handle, device);
  if (!module) {
    fault("a module is unloaded that is none of this context");
    return InvalidHandle;
  }
  if (Schedule::get().isInUse({reinterpret_cast<Address>(module), 1}))
    fault("a module is unloaded under a launch");
  std::lock_guard lock(mutex);
  modules.erase(module); // never freed: no later one has its address
  return Success;
}
int cuModuleGetFunction(void **function, void *module, const char *name) {
  *function = module;
  if (findModule(module, device) && std::strcmp(name, "etc_run_moves") == 0)
    return Success;
  fault("an unknown kernel is asked for");
  return NotFound;
}

} // extern "C"
