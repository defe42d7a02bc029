// What Kernels.cu uses of CUDA, for a C++ compiler: included before it, so that
// the source that GPUs run runs here too, unmodified. Threads are fibers
// (Fibers.h).

#ifndef ETC_TEST_KERNELS_CUDAONHOST_H
#define ETC_TEST_KERNELS_CUDAONHOST_H

#include "Fibers.h"

#include <cstring>

#define __global__
#define __device__
// A kernel's name and arguments follow; the driver's double asks for the
// bounds.
#define __launch_bounds__(threads)                                             \
  etcBeforeKernel();                                                           \
  constexpr unsigned kMostThreads = threads;                                   \
  extern "C" void
// Blocks run one after another, so one copy will do. The section's name lets
// the fibers fill it with noise before each block.
#define __shared__ static __attribute__((section("etc_shared")))

#define threadIdx (etc::test::currentThread().thread)
#define blockIdx (etc::test::currentThread().block)
#define gridDim (etc::test::currentThread().grid)

inline void __syncthreads() { etc::test::waitForBlock(); }

template <typename Value>
Value __shfl_down_sync(unsigned mask, Value value, unsigned distance) {
  return static_cast<Value>(etc::test::shuffleDown(mask, value, distance));
}

/// Nothing comes between the load and the store: fibers change hands at calls.
template <typename Value>
__attribute__((no_sanitize("thread"))) Value atomicAdd(Value *to, Value value) {
  const Value before = *to;
  *to = before + value;
  return before;
}

// Every copy in the kernels is one access, whose width has to divide the
// address: a GPU faults where a CPU does not mind.
#define memcpy(to, from, bytes) etc::test::copyAligned(to, from, bytes)

#endif // ETC_TEST_KERNELS_CUDAONHOST_H
