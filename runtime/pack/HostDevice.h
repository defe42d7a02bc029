// Functions that the host's code and the GPU's kernels share.

#ifndef ETC_RUNTIME_PACK_HOSTDEVICE_H
#define ETC_RUNTIME_PACK_HOSTDEVICE_H

#ifdef __CUDACC__
#define ETC_HOST_DEVICE __host__ __device__
#else
#define ETC_HOST_DEVICE
#endif

#endif // ETC_RUNTIME_PACK_HOSTDEVICE_H
