#include "device/KernelImage.h"

#ifdef ETC_KERNEL_FILE
asm(".section .rodata\n"
    ".balign 64\n"
    "etc_kernel_image:\n"
    ".incbin \"" ETC_KERNEL_FILE "\"\n"
    ".previous\n");
extern "C" const char etc_kernel_image[];

const void *etc::runtime::kernelImage() { return etc_kernel_image; }
#else
const void *etc::runtime::kernelImage() { return nullptr; }
#endif
