//===- PaperVolumes.h - What the paper's policy would move ----------------===//

#ifndef ETC_TRANSFORMS_PAPERVOLUMES_H
#define ETC_TRANSFORMS_PAPERVOLUMES_H

#include "etc/Transforms/PlacementVolumes.h"

namespace etc {

/// The volumes of `--policy=paper`, coalesced, for this request. Nothing where
/// the paper does not define its method: for more than PP, TP and DP, uneven or
/// interleaved stages, ranks in another order, the distributed optimizer, FSDP,
/// inventories, or above 1024 roles on a side. Nothing either where the request
/// fixes the devices. Needs the workloads.
std::optional<Volumes> paperVolumes(MigrationOp migration);

} // namespace etc

#endif // ETC_TRANSFORMS_PAPERVOLUMES_H
