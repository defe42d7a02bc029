//===- TryPlacement.h - What another placement would move -----------------===//

#ifndef ETC_TRANSFORMS_TRYPLACEMENT_H
#define ETC_TRANSFORMS_TRYPLACEMENT_H

#include "etc/Optimize/Placement/Entering.h"
#include "etc/Transforms/PlacementVolumes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <utility>
#include <vector>

namespace etc {

/// Another way to place the same migration.
struct Trial {
  Place place = Place::Any;
  bool totalFirst = false;
  /// Devices that leave, besides those of the request; ascending.
  llvm::ArrayRef<int64_t> draining = {};
  /// Whether roles that lack the same bytes come together on nodes, and devices
  /// are chosen for their NICs.
  bool shareNodes = true, reachNics = false;
};

/// Where a trial puts the current ranks, and what a plan would then move.
struct TrialResult {
  Volumes volumes;
  llvm::SmallVector<int64_t> placement;
};

/// Places a migration in many ways without planning it whole: the problem of
/// placement is posed once.
class PlacementTrials {
public:
  /// `migration` may be in any stage; it is copied.
  explicit PlacementTrials(MigrationOp migration);
  ~PlacementTrials();

  /// Nothing where there is no plan: too few devices, groups that do not fit
  /// the nodes, state without a holder.
  std::optional<TrialResult> run(const Trial &trial);
  /// What a placement that is known moves; nothing as of `run`.
  std::optional<Volumes> volumesOf(llvm::ArrayRef<int64_t> placement);

  /// What makes nodes interchangeable: for each node, the previous role of
  /// every device in order (-1: none), and whether it may take a role.
  std::vector<std::vector<std::pair<int64_t, bool>>> nodeSignatures();

private:
  std::optional<llvm::SmallVector<int64_t>> place(const Trial &trial);

  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Nothing where the stages before the assignment fail.
  std::optional<PlacementVolumes> volumes;
  placement::Problem problem; ///< without what a trial changes
  std::optional<placement::Entering> entering;
};

} // namespace etc

#endif // ETC_TRANSFORMS_TRYPLACEMENT_H
