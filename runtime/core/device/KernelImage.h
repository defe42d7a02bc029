// The compiled kernels, as the CUDA driver loads them: an image for each
// architecture.

#ifndef ETC_RUNTIME_CORE_DEVICE_KERNELIMAGE_H
#define ETC_RUNTIME_CORE_DEVICE_KERNELIMAGE_H

#include <span>
#include <string>

namespace etc::runtime {

struct KernelImage {
  enum Kind {
    Cubin, // machine code: for GPUs of the same major version, not older ones
    Ptx,   // text, compiled by the driver when it is loaded: for all later GPUs
  };
  Kind kind;
  int capability;   // 10 x major + minor version
  const void *data; // as cuModuleLoadData() takes it
};

/// Those of this build; none in a build without a compiler for them.
std::span<const KernelImage> kernelImages();

/// The image that a GPU of this compute capability runs best: machine code,
/// the latest if there are several, else PTX. Null if none is for it.
const KernelImage *chooseImage(std::span<const KernelImage> images,
                               int capability);

/// Their architectures, as CUDA calls them: "sm_80, sm_90, compute_80".
std::string describeImages(std::span<const KernelImage> images);

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_DEVICE_KERNELIMAGE_H
