// The CUDA driver's binary interface, as cuda.h of CUDA 13.0 has it: written
// apart from what the runtime believes of it.

#ifndef ETC_TEST_CUDATYPES_H
#define ETC_TEST_CUDATYPES_H

#include "Schedule.h"

namespace etc::test {

using Device = int;
using ContextHandle = void *;

struct CudaUuid {
  unsigned char bytes[16];
};

struct CudaLocation {
  int type, id;
};
struct CudaAllocationProperties {
  int type, requestedHandleTypes;
  CudaLocation location;
  void *win32HandleMetaData;
  unsigned char compressionType, gpuDirectRdmaCapable;
  unsigned short usage;
  unsigned char reserved[4];
};
struct CudaAccess {
  CudaLocation location;
  int flags;
};

enum Attribute : int {
  MultiprocessorCount = 16,
  ComputeCapabilityMajor = 75,
  ComputeCapabilityMinor = 76,
  VirtualMemoryManagement = 102,
};

/// Whether a GPU's kernels can use memory of another one. As with CUDA, that
/// takes more: who has the memory grants it.
bool canAccess(Device device, Device peer);

/// The device of the calling thread's context, or -1.
int currentDevice();

/// What a call that needs a context returns at once: contexts belong to threads
/// (CUDA Driver API 13.0, "Context Management"), and a broken one does nothing
/// more.
Result checkContext(const char *call);

/// The stream of a handle, in the thread's context; a fault where there is
/// none.
StreamHandle findStream(StreamHandle handle, const char *call);

/// A module, and its only function.
struct Module {
  int device;
  bool hasLaunched = false;
};
/// A module of a device that was loaded and not unloaded; else null.
Module *findModule(void *handle, int device);

/// Kernels on the CPU: see Kernel.cpp.
struct Launch {
  int device;
  Module *module;
  Address moves, firstTile, sums;
  uint32_t count;
  unsigned blocks;
};
/// Runs etc_run_moves. Returns what a device makes of it.
Result runKernel(const Launch &launch, uint64_t seed);

} // namespace etc::test

#endif // ETC_TEST_CUDATYPES_H
