//===- CheckTimeBound.cpp - V15: the witness of a time --------------------===//
//
// Counts again what has to cross the borders of the witness, and at which rate
// it can, from what lib/Layout says that roles hold.
//
//===----------------------------------------------------------------------===//

#include "CrossingBytes.h"
#include "Rules.h"

#include "llvm/ADT/BitVector.h"

#include <set>

using namespace etc;
using namespace mlir;

namespace {
class BoundChecker {
public:
  BoundChecker(const PlanUnderTest &plan, TimeBoundOp bound);
  LogicalResult run();

private:
  LogicalResult checkDevices();
  int64_t countLack(const llvm::BitVector &needers,
                    const llvm::BitVector &holders) const;
  int64_t countBytes() const;
  int64_t countRate() const;

  const PlanUnderTest &plan;
  TimeBoundOp bound;
  /// [device] roles of those that take part, or -1.
  SmallVector<int64_t> prevRole, currRole;
  llvm::BitVector isInside, isInner;
};
} // namespace

BoundChecker::BoundChecker(const PlanUnderTest &plan, TimeBoundOp bound)
    : plan(plan), bound(bound), prevRole(plan.nodeOf.size(), -1),
      currRole(plan.nodeOf.size(), -1), isInside(plan.nodeOf.size()),
      isInner(plan.nodeOf.size()) {
  MigrationOp migration = plan.migration;
  for (auto [rank, device] : llvm::enumerate(migration.getPrevPlacement()))
    prevRole[device] = LayoutOracle::roleOfRank(migration.getPrev(), rank);
  for (int64_t device : migration.getFailed().value_or(ArrayRef<int64_t>()))
    prevRole[device] = -1;
  for (auto [rank, device] :
       llvm::enumerate(migration.getOnly<PlacementOp>().getDevices()))
    currRole[device] = LayoutOracle::roleOfRank(migration.getCurr(), rank);
  for (int64_t device : bound.getDevices())
    isInside.set(device);
  for (int64_t device : bound.getInner().value_or(ArrayRef<int64_t>()))
    isInner.set(device);
}

LogicalResult BoundChecker::checkDevices() {
  for (int64_t device : bound.getDevices())
    if (prevRole[device] < 0 && currRole[device] < 0)
      return Refusal(bound, Rule::TimeBound)
             << "device " << device << " takes no part";
  return success();
}

/// What some devices need and others did not hold.
int64_t BoundChecker::countLack(const llvm::BitVector &needers,
                                const llvm::BitVector &holders) const {
  std::set<int64_t> prevRoles, currRoles;
  for (unsigned device : holders.set_bits())
    if (prevRole[device] >= 0)
      prevRoles.insert(prevRole[device]);
  for (unsigned device : needers.set_bits())
    if (currRole[device] >= 0)
      currRoles.insert(currRole[device]);
  CrossingBytes bytes(plan.table, plan.oracle);
  for (int64_t role : prevRoles)
    bytes.addHolder(role);
  for (int64_t role : currRoles)
    bytes.addNeeder(role);
  return bytes.count(TimeBoundOp(bound).getOfPause());
}

/// What only devices of a set held and others need enters the others. A byte
/// that leaves the set and the inner devices may do so at once; each inner
/// device has to receive a byte by itself.
int64_t BoundChecker::countBytes() const {
  if (TimeBoundOp(bound).getDirection() == Direction::Out) {
    llvm::BitVector others = isInside, notInner = isInner;
    others.flip();
    notInner.flip();
    int64_t bytes = countLack(others, others);
    if (isInner.any())
      bytes += countLack(notInner, notInner) - countLack(others, notInner);
    return bytes;
  }
  int64_t bytes = countLack(isInside, isInside);
  if (isInner.any())
    bytes -= countLack(isInner, isInside);
  for (unsigned device : isInner.set_bits()) {
    llvm::BitVector alone(isInner.size());
    alone.set(device);
    bytes += countLack(alone, alone);
  }
  return bytes;
}

/// Links lead to further participants of the node, those of inner devices to
/// any; NICs lead to other nodes'.
int64_t BoundChecker::countRate() const {
  MigrationOp migration = plan.migration;
  const ResourcesAttr resources = migration.getResourcesAttr();
  SmallVector<int64_t> insideOf(migration.getNodes().size()),
      outsideOf(migration.getNodes().size());
  int64_t all = 0;
  for (size_t device = 0; device < prevRole.size(); ++device)
    if (prevRole[device] >= 0 || currRole[device] >= 0) {
      ++(isInside.test(device) ? insideOf : outsideOf)[plan.nodeOf[device]];
      ++all;
    }
  int64_t rate = 0, first = 0;
  for (auto [node, size] : llvm::enumerate(migration.getNodes())) {
    const int64_t participants = insideOf[node] + outsideOf[node];
    std::set<int64_t> nics;
    for (int64_t i = 0; i < size; ++i)
      if (isInside.test(first + i)) {
        nics.insert(std::min(resources.getNics(), size) * i / size);
        if (outsideOf[node] > 0 ||
            (isInner.test(first + i) && participants > 1))
          rate += resources.getLinkRate();
      }
    if (participants < all)
      rate += static_cast<int64_t>(nics.size()) * resources.getNicRate();
    first += size;
  }
  return rate;
}

LogicalResult BoundChecker::run() {
  if (failed(checkDevices()))
    return failure();
  const int64_t rate = countRate(), bytes = countBytes();
  if (rate != static_cast<int64_t>(bound.getRate()))
    return Refusal(bound, Rule::TimeBound)
           << "states a rate of " << bound.getRate() << " bytes a second, "
           << rate << " can cross";
  if (bytes != static_cast<int64_t>(bound.getBytes()))
    return Refusal(bound, Rule::TimeBound)
           << "states " << bound.getBytes() << " bytes, " << bytes
           << " have to cross";
  return success();
}

LogicalResult etc::checkTimeBounds(const PlanUnderTest &plan) {
  for (TimeBoundOp bound : plan.migration.getOps<TimeBoundOp>())
    if (failed(BoundChecker(plan, bound).run()))
      return failure();
  return success();
}
