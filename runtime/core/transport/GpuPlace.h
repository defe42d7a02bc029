// Which GPU a rank has, so that no two ranks have the same one.

#ifndef ETC_RUNTIME_CORE_TRANSPORT_GPUPLACE_H
#define ETC_RUNTIME_CORE_TRANSPORT_GPUPLACE_H

#include "core/device/CudaDriver.h"

#include <cstdint>
#include <optional>
#include <span>

namespace etc::runtime {

/// As NCCL tells GPUs apart (getHostHash in src/misc/utils.cc, busId and
/// gpuUuid in src/init.cc). Plain data, which travels between processes as it
/// is.
struct GpuPlace {
  char host[128];  // NCCL_HOSTID, or the host's name and the number of its boot
  char bus[32];    // of the whole GPU, where it is divided (MIG, MLOPart)
  cuda::Uuid uuid; // of the partition

  /// What a peer sent ends somewhere.
  void endTexts() { host[sizeof host - 1] = bus[sizeof bus - 1] = '\0'; }
};

plan::Result<GpuPlace> findPlace(const cuda::DeviceContext &context);

/// Two ranks on one GPU.
struct Twins {
  uint32_t first, second;
  bool arePartitions; // on partitions of it that are not the same
};

/// Two ranks that NCCL refuses ("invalid usage"): on one GPU or partition or,
/// before kTellsPartitions, on two partitions of a GPU. None where the version
/// can have them, and NCCL_MULTI_RANK_GPU_ENABLE asks for it.
std::optional<Twins> findTwins(std::span<const GpuPlace> places,
                               int ncclVersion);

/// The first version of NCCL that compares UUIDs: 2.30.7.
constexpr int kTellsPartitions = 23007;

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_TRANSPORT_GPUPLACE_H
