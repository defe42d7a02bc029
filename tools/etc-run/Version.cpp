#include "Version.h"

#include "core/device/CudaDriver.h"
#include "core/device/KernelImage.h"
#include "core/plan/PlanFile.h"
#include "core/transport/NcclLibrary.h"

#include "etc-revision.h"

#include <flatbuffers/base.h>

using namespace etc::runtime;
using etc::plan::text;

namespace {

/// CUDA counts 13.0 as 13000.
std::string describeDriver() {
  const auto &driver = cuda::findDriver();
  int version = 0;
  if (!driver)
    return driver.status().message();
  if (driver->cuDriverGetVersion(&version) != cuda::kSuccess)
    return "found, but does not start";
  return text(version / 1000, ".", version % 1000 / 10);
}

std::string describeNccl() {
  const auto &library = nccl::findLibrary();
  if (!library)
    return library.status().message();
  return text(nccl::describeVersion(library->version), " (", library->path,
              ")");
}

} // namespace

std::string etc::run::versionText() {
  return text("etc-run ", ETC_VERSION, " (plan format ",
              etc::plan::kPlanVersion, ", revision ", ETC_REVISION, ")\n",
              "FlatBuffers  ", FLATBUFFERS_VERSION_MAJOR, ".",
              FLATBUFFERS_VERSION_MINOR, ".", FLATBUFFERS_VERSION_REVISION,
              "\n", "GPU kernels  ",
              kernelImages().empty() ? "left out (no compiler was found)"
                                     : describeImages(kernelImages()),
              "\n", "CUDA driver  ", describeDriver(), "\n", "NCCL         ",
              describeNccl(), "\n");
}
