// Functions that the host's code and the GPU's kernels share.

#ifndef ETC_RUNTIME_CORE_PACK_HOSTDEVICE_H
#define ETC_RUNTIME_CORE_PACK_HOSTDEVICE_H

#ifdef __CUDACC__
#define ETC_HOST_DEVICE __host__ __device__
#else
#define ETC_HOST_DEVICE
#endif

#ifdef __CUDA_ARCH__
/// What loops over registers need, and others must not have: code that does not
/// fit into the instruction cache.
#define ETC_UNROLL _Pragma("unroll")
#define ETC_NO_UNROLL _Pragma("unroll 1")
#else
#define ETC_UNROLL
#define ETC_NO_UNROLL
#endif

namespace etc::runtime {

/// Zero bits below the lowest one of a number that is not zero.
ETC_HOST_DEVICE inline unsigned trailingZeros(unsigned long long value) {
#ifdef __CUDA_ARCH__
  return static_cast<unsigned>(__ffsll(static_cast<long long>(value))) - 1;
#else
  return static_cast<unsigned>(__builtin_ctzll(value));
#endif
}

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_PACK_HOSTDEVICE_H
