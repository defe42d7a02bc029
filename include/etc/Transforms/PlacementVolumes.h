//===- PlacementVolumes.h - What a placement would move -------------------===//

#ifndef ETC_TRANSFORMS_PLACEMENTVOLUMES_H
#define ETC_TRANSFORMS_PLACEMENTVOLUMES_H

#include "dialect/Etc.h"

#include <memory>
#include <optional>

namespace etc {

struct Volumes {
  int64_t moved = 0; ///< bytes that devices lack
  int64_t internode =
      0;               ///< those of them that no device of the same node holds
  int64_t maxRecv = 0; ///< of the device that lacks most
};

/// The volumes of ways to place one migration, whose workloads must be there.
/// What pairs of roles need is worked out once for all placements.
class PlacementVolumes {
public:
  explicit PlacementVolumes(MigrationOp migration);
  ~PlacementVolumes();

  /// With current rank r on device placement[r], without any instructions:
  /// whatever is found on the same node comes from there. Nothing where a
  /// tensor has no source.
  std::optional<Volumes> of(llvm::ArrayRef<int64_t> placement);

private:
  struct Tables;
  std::unique_ptr<Tables> tables;
};

} // namespace etc

#endif // ETC_TRANSFORMS_PLACEMENTVOLUMES_H
