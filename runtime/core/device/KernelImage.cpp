#include "core/device/KernelImage.h"

#include <vector>

using namespace etc::runtime;

// The build's list: ETC_KERNEL_IMAGE(kind, capability, file) for each image.
// A zero ends PTX.
#define ETC_KERNEL_IMAGE(kind, capability, file)                               \
  asm(".section .rodata\n"                                                     \
      ".balign 64\n"                                                           \
      "etc_kernel_" #kind "_" #capability ":\n"                                \
      ".incbin \"" file "\"\n"                                                 \
      ".byte 0\n"                                                              \
      ".previous\n");                                                          \
  extern "C" const char etc_kernel_##kind##_##capability[];
#include "KernelImages.inc"
#undef ETC_KERNEL_IMAGE

std::span<const KernelImage> etc::runtime::kernelImages() {
#define ETC_KERNEL_IMAGE(kind, capability, file)                               \
  {KernelImage::kind, capability, etc_kernel_##kind##_##capability},
  static const std::vector<KernelImage> images = {
#include "KernelImages.inc"
  };
#undef ETC_KERNEL_IMAGE
  return images;
}

static bool runs(const KernelImage &image, int capability) {
  return image.capability <= capability &&
         (image.kind == KernelImage::Ptx ||
          image.capability / 10 == capability / 10);
}

const KernelImage *
etc::runtime::chooseImage(std::span<const KernelImage> images, int capability) {
  const KernelImage *best = nullptr;
  for (const KernelImage &image : images) {
    if (!runs(image, capability))
      continue;
    const bool isBetter =
        !best || (image.kind == best->kind ? image.capability > best->capability
                                           : image.kind == KernelImage::Cubin);
    if (isBetter)
      best = &image;
  }
  return best;
}

std::string etc::runtime::describeImages(std::span<const KernelImage> images) {
  std::string names;
  for (const KernelImage &image : images) {
    names += names.empty() ? "" : ", ";
    names += image.kind == KernelImage::Cubin ? "sm_" : "compute_";
    names += std::to_string(image.capability);
  }
  return names;
}
