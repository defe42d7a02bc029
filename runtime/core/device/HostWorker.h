// A device whose memory is host memory.

#ifndef ETC_RUNTIME_CORE_DEVICE_HOSTWORKER_H
#define ETC_RUNTIME_CORE_DEVICE_HOSTWORKER_H

#include "core/device/Worker.h"

#include <memory>
#include <string>

namespace etc::runtime {

/// Memory comes from pages that are made ahead, where the kernel can move them,
/// else from the system as needed.
std::unique_ptr<Worker> makeHostWorker();

/// The same, with memory that outlives the process: named buffers are files of
/// a directory.
std::unique_ptr<Worker> makeFileWorker(std::string directory);

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_DEVICE_HOSTWORKER_H
