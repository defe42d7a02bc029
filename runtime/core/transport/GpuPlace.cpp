#include "core/transport/GpuPlace.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <unistd.h>

using namespace etc::runtime;
using etc::plan::Result;
using etc::plan::Status;

/// The first that has several ranks on a GPU, where it is asked to.
constexpr int kSharesGpus = 23000;

static std::string findHost() {
  if (const char *given = std::getenv("NCCL_HOSTID"); given && *given)
    return given;
  char name[64] = {};
  (void)::gethostname(name, sizeof name - 1);
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  return name + (" " + boot);
}

Result<GpuPlace> etc::runtime::findPlace(const cuda::DeviceContext &context) {
  GpuPlace place{};
  const std::string host = findHost();
  host.copy(place.host, sizeof place.host - 1);
  const cuda::Driver &driver = context.driver();
  Status status = driver.check(
      driver.cuDeviceGetPCIBusId(place.bus, sizeof place.bus, context.device()),
      "cannot ask where the GPU is");
  if (status.ok())
    status =
        driver.check(driver.cuDeviceGetUuid_v2(&place.uuid, context.device()),
                     "cannot ask for the GPU's UUID");
  return status.ok() ? Result<GpuPlace>(place) : Result<GpuPlace>(status);
}

/// Built for CUDA 13, NCCL asks for the UUID by a function of CUDA 9.2
/// (LOAD_SYM in src/misc/cudawrap.cc), which MIG's partitions of a GPU have in
/// common. It refuses them itself, and names NCCL_MULTI_RANK_GPU_ENABLE; from
/// outside, one build looks like another.
static bool areTaken(const GpuPlace &a, const GpuPlace &b, int ncclVersion) {
  return ncclVersion >= kTellsPartitions
             ? a.uuid == b.uuid
             : std::string_view(a.bus) == std::string_view(b.bus);
}

std::optional<Twins> etc::runtime::findTwins(std::span<const GpuPlace> places,
                                             int ncclVersion) {
  const char *asked = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  if (ncclVersion >= kSharesGpus && asked && std::strtoll(asked, nullptr, 0))
    return std::nullopt;
  for (uint32_t b = 0; b != places.size(); ++b)
    for (uint32_t a = 0; a != b; ++a)
      if (std::string_view(places[a].host) == places[b].host &&
          areTaken(places[a], places[b], ncclVersion))
        return Twins{a, b, !(places[a].uuid == places[b].uuid)};
  return std::nullopt;
}
