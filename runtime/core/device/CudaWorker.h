// A device that is a GPU, or a share of one.

#ifndef ETC_RUNTIME_CORE_DEVICE_CUDAWORKER_H
#define ETC_RUNTIME_CORE_DEVICE_CUDAWORKER_H

#include "core/device/CudaDriver.h"
#include "core/device/Worker.h"

#include <memory>
#include <span>

namespace etc::runtime {

/// A worker on a GPU; several on one GPU are its virtual devices. Workers of
/// this process on the GPUs `readers` read its memory. The error, of kind
/// Usage, says what is missing.
Result<std::unique_ptr<Worker>>
makeCudaWorker(unsigned ordinal, std::span<const unsigned> readers = {});

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_DEVICE_CUDAWORKER_H
