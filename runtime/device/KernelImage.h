// The compiled kernels, as the CUDA driver loads them.

#ifndef ETC_RUNTIME_DEVICE_KERNELIMAGE_H
#define ETC_RUNTIME_DEVICE_KERNELIMAGE_H

namespace etc::runtime {

/// The file that nvcc wrote; null in a build without nvcc.
const void *kernelImage();

} // namespace etc::runtime

#endif // ETC_RUNTIME_DEVICE_KERNELIMAGE_H
