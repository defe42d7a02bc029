//===- CheckPlacement.cpp - V1: the request allows the placement ----------===//

#include "Rules.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallSet.h"

using namespace etc;
using namespace mlir;

using NodeSet = llvm::SmallSet<int64_t, 8>;

static LogicalResult checkUsable(MigrationOp migration, PlacementOp placement) {
  for (auto [list, state] : {std::pair(migration.getFailed(), "dead"),
                             {migration.getDraining(), "draining"}}) {
    llvm::DenseSet<int64_t> gone;
    gone.insert_range(list.value_or(ArrayRef<int64_t>()));
    for (auto [rank, device] : llvm::enumerate(placement.getDevices()))
      if (gone.contains(device))
        return Refusal(placement, Rule::Placement)
               << "gives current rank " << rank << " to device " << device
               << ", which is " << state;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Groups in nodes
//===----------------------------------------------------------------------===//

/// How many devices of every node may take a role.
static SmallVector<int64_t> countUsable(const PlanUnderTest &plan) {
  MigrationOp migration = plan.migration;
  SmallVector<int64_t> usable(migration.getNodes());
  llvm::SmallSet<int64_t, 16> gone;
  for (auto list : {migration.getFailed(), migration.getDraining()})
    for (int64_t device : list.value_or(ArrayRef<int64_t>()))
      if (gone.insert(device).second)
        --usable[plan.nodeOf[device]];
  return usable;
}

static size_t countNodes(const PlanUnderTest &plan, ArrayRef<int64_t> devices) {
  NodeSet nodes;
  for (int64_t device : devices)
    nodes.insert(plan.nodeOf[device]);
  return nodes.size();
}

/// The fewest nodes that hold `groups` of `tp` ranks, none of which is split.
static size_t fewestNodes(SmallVector<int64_t> usable, int64_t tp,
                          int64_t groups) {
  llvm::sort(usable, std::greater<>());
  size_t nodes = 0;
  for (int64_t room = 0; room < groups && nodes < usable.size(); ++nodes)
    room += usable[nodes] / tp;
  return nodes;
}

/// `tp` and `pack` have every tensor-parallel group on as few nodes as it
/// needs, `pack` all ranks on the fewest.
static LogicalResult checkGroups(const PlanUnderTest &plan,
                                 PlacementOp placement) {
  std::optional<Place> place = plan.migration.getPlace();
  if (!place || *place == Place::Any)
    return success();
  const SmallVector<int64_t> usable = countUsable(plan);
  const int64_t tp = plan.migration.getCurr().getTp();
  const size_t parts = llvm::divideCeil(tp, *llvm::max_element(usable));
  ArrayRef<int64_t> devices = placement.getDevices();
  // Tensor ranks are the fastest dimension of a rank.
  for (int64_t rank = 0; rank < static_cast<int64_t>(devices.size());
       rank += tp)
    if (size_t nodes = countNodes(plan, devices.slice(rank, tp)); nodes > parts)
      return Refusal(placement, Rule::Placement)
             << "splits the tensor-parallel group of ranks " << rank << " to "
             << rank + tp - 1 << " over " << nodes << " nodes, "
             << stringifyPlace(*place) << " allows " << parts;
  const int64_t groups = devices.size() / tp;
  const size_t fewest =
                   parts > 1 ? groups * parts : fewestNodes(usable, tp, groups),
               used = countNodes(plan, devices);
  if (*place != Place::Pack || used <= fewest)
    return success();
  return Refusal(placement, Rule::Placement)
         << "takes " << used << " nodes, pack allows " << fewest;
}

//===----------------------------------------------------------------------===//
// The sketch
//===----------------------------------------------------------------------===//

/// [role][replica] the device. The replicas of a role follow each other in the
/// order of their ranks.
static std::vector<SmallVector<int64_t>>
devicesOf(ParallelAttr parallel, ArrayRef<int64_t> placement) {
  std::vector<SmallVector<int64_t>> devices(parallel.getRoles());
  for (auto [rank, device] : llvm::enumerate(placement))
    devices[LayoutOracle::roleOfRank(parallel, rank)].push_back(device);
  return devices;
}

/// Whether the paper's method has moved ranks once more, so that the sketch
/// does not decide. It leaves what it has computed.
static FailureOr<bool> isMovedOnce(MigrationOp migration) {
  if (migration.getPolicy() != Policy::Paper || migration.getCurrDevices())
    return false;
  if (migration.getCosts(CostUnit::Merged))
    return true;
  Refusal(migration, Rule::Placement)
      << "has the paper's policy, but no etc.cost_matrix in merged, by which "
         "the paper's method places roles";
  return failure();
}

/// Every rank of a pair is on the pair's device.
static LogicalResult checkPairs(const PlanUnderTest &plan,
                                PlacementOp placement) {
  MigrationOp migration = plan.migration;
  const FailureOr<bool> isMoved = isMovedOnce(migration);
  if (failed(isMoved) || *isMoved)
    return isMoved;
  auto pairs = migration.getOps<PairOp>();
  ParallelAttr prev = migration.getPrev(), curr = migration.getCurr();
  const auto held = devicesOf(prev, migration.getPrevPlacement()),
             placed = devicesOf(curr, placement.getDevices());
  for (PairOp pair : pairs) {
    const int64_t role = curr.getRoleIndex(pair.getCurr());
    ArrayRef<int64_t> sources =
        pair.getPrev() ? *pair.getPrevReplicas()
                       : pair.getDevices().value_or(ArrayRef<int64_t>());
    for (auto [replica, source] : llvm::zip(pair.getCurrReplicas(), sources)) {
      const int64_t device = placed[role][replica],
                    expected =
                        pair.getPrev()
                            ? held[prev.getRoleIndex(*pair.getPrev())][source]
                            : source;
      if (device != expected)
        return Refusal(placement, Rule::Placement)
               << "has replica " << replica << " of " << pair.getCurr().str()
               << " on device " << device << ", its pair on " << expected;
    }
  }
  return success();
}

LogicalResult etc::checkPlacement(const PlanUnderTest &plan) {
  auto placement = plan.migration.getOnly<PlacementOp>();
  std::optional<ArrayRef<int64_t>> fixed = plan.migration.getCurrDevices();
  if (fixed && *fixed != placement.getDevices())
    return Refusal(placement, Rule::Placement)
           << "is not the one that the request fixes";
  if (failed(checkUsable(plan.migration, placement)) ||
      (!fixed && failed(checkGroups(plan, placement))))
    return failure();
  return checkPairs(plan, placement);
}
