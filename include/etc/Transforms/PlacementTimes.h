//===- PlacementTimes.h - How long a placement takes at least ---*- C++ -*-===//

#ifndef ETC_TRANSFORMS_PLACEMENTTIMES_H
#define ETC_TRANSFORMS_PLACEMENTTIMES_H

#include "etc/Analysis/NodeClasses.h"

#include <memory>

namespace etc {

/// Where devices pass on what they receive, so that each byte enters a node
/// once.
struct EnteringTime {
  int64_t internode = 0; ///< bytes that enter nodes
  double seconds = 0;    ///< of the node or device that receives longest
};

/// The times of ways to place one migration. What roles need and nodes hold is
/// worked out once for all placements.
class PlacementTimes {
public:
  PlacementTimes(MigrationOp migration, const TensorTable &table,
                 const BothHoldings &holdings, const Devices &devices,
                 const NodeClasses &classes);
  ~PlacementTimes();

  /// With current rank r on device placement[r]. Nothing for inventories, and
  /// where there are more than 32 768 pairs of roles and of what cells hold.
  std::optional<EnteringTime> of(llvm::ArrayRef<int64_t> placement) const;

private:
  struct Tables;
  std::unique_ptr<Tables> tables;
};

} // namespace etc

#endif // ETC_TRANSFORMS_PLACEMENTTIMES_H
