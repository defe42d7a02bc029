//===- EtcPlanningVerifiers.cpp - Invariants up to the placement ----------===//

#include "dialect/Verifiers.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>

using namespace etc;
using namespace mlir;

LogicalResult WorkloadOp::verify() {
  auto migration = cast<MigrationOp>((*this)->getParentOp());
  // What an inventory holds is of a device each.
  ParallelAttr parallel = migration.getParallel(getSide());
  const bool isOfPool = !parallel.getInventory() && parallel.hasPool(getRole());
  if (!isOfPool && failed(verifyRole(*this, getSide(), getRole())))
    return failure();
  if (!getWt())
    return success();
  if (getWt()->empty())
    return emitOpError("expected at least one type");
  return verifyTypes(*this, *getWt());
}

LogicalResult CostMatrixOp::verify() {
  auto migration = cast<MigrationOp>((*this)->getParentOp());
  ParallelAttr curr = migration.getCurr(), prev = migration.getPrev();
  int64_t rows = curr.getPools(), columns = prev.getPools();
  if (getUnit() == CostUnit::Pp)
    std::tie(rows, columns) = std::pair(curr.getPp(), prev.getPp());
  else if (getUnit() == CostUnit::Tp)
    std::tie(rows, columns) = std::pair(curr.getTp(), prev.getTp());
  if (getCosts().getRows() != rows || getCosts().getColumns() != columns)
    return emitOpError() << "expected " << rows << " rows and " << columns
                         << " columns, got " << getCosts().getRows() << " and "
                         << getCosts().getColumns();
  return success();
}

/// Replicas are distinct and below the data-parallel degree.
static LogicalResult verifyReplicas(PairOp op, StringRef side,
                                    ArrayRef<int64_t> replicas, int64_t dp) {
  llvm::DenseSet<int64_t> seen;
  for (int64_t replica : replicas)
    if (replica < 0 || replica >= dp || !seen.insert(replica).second)
      return op.emitOpError()
             << "expected distinct " << side << " replicas in [0, " << dp
             << "), got " << replica;
  return success();
}

/// Devices of replicas that come from none.
static LogicalResult verifyPairDevices(PairOp op) {
  std::optional<ArrayRef<int64_t>> devices = op.getDevices();
  if (!devices)
    return success();
  if (devices->size() != op.getCurrReplicas().size())
    return op.emitOpError() << "places " << op.getCurrReplicas().size()
                            << " replicas on " << devices->size() << " devices";
  return verifyDevices(cast<MigrationOp>(op->getParentOp()), op, "pair",
                       *devices);
}

LogicalResult PairOp::verify() {
  auto migration = cast<MigrationOp>((*this)->getParentOp());
  if (failed(verifyRole(*this, Side::Curr, getCurr())) ||
      failed(verifyReplicas(*this, "curr", getCurrReplicas(),
                            migration.getCurr().getRoleReplicas())))
    return failure();
  if (getPrev().has_value() != getPrevReplicas().has_value())
    return emitOpError(
        "expected previous replicas with a previous role, and only then");
  if (!getPrev())
    return verifyPairDevices(*this);
  if (getDevices())
    return emitOpError(
        "lists devices, which the previous replicas have already");
  if (getPrevReplicas()->size() != getCurrReplicas().size())
    return emitOpError() << "pairs " << getCurrReplicas().size()
                         << " curr with " << getPrevReplicas()->size()
                         << " prev replicas";
  if (failed(verifyRole(*this, Side::Prev, *getPrev())))
    return failure();
  return verifyReplicas(*this, "prev", *getPrevReplicas(),
                        migration.getPrev().getRoleReplicas());
}

LogicalResult OverlapOp::verify() {
  if (failed(verifyRole(*this, Side::Curr, getCurr())))
    return failure();
  if (getPrev().size() != getBytes().size())
    return emitOpError() << "lists " << getPrev().size()
                         << " previous roles and the bytes of "
                         << getBytes().size();
  for (auto [role, bytes] :
       llvm::zip_equal(getPrev().getAsRange<RoleAttr>(), getBytes())) {
    if (failed(verifyRole(*this, Side::Prev, role)))
      return failure();
    if (bytes <= 0)
      return emitOpError() << "shares " << bytes << " bytes with " << role.str()
                           << "; list those that share any";
  }
  return success();
}

LogicalResult CertificateOp::verify() {
  auto migration = cast<MigrationOp>((*this)->getParentOp());
  size_t rows = migration.getCurr().getRoles(), columns = getMembers().size();
  if (getLevel() == Level::Device &&
      columns != static_cast<size_t>(migration.getPrev().getRoles()))
    return emitOpError() << "expected " << migration.getPrev().getRoles()
                         << " members, one a previous role, got " << columns;
  if (getU().size() != rows || getV().size() != columns)
    return emitOpError() << "expected " << rows << " values of u and "
                         << columns << " of v, got " << getU().size() << " and "
                         << getV().size();
  return success();
}

/// Lists of devices, of which those of NICs are the first that have them.
static LogicalResult verifyTolls(MigrationOp migration, TimeBoundOp bound) {
  if (bound.getDirection() || !bound.getDevices().empty() || bound.getInner())
    return bound.emitOpError("expected no devices beside tolls");
  for (const std::optional<ArrayRef<int64_t>> list :
       {bound.getLinksOut(), bound.getLinksIn(), bound.getNicsOut(),
        bound.getNicsIn()}) {
    if (!list)
      continue;
    if (list->empty() || !llvm::is_sorted(*list))
      return bound.emitOpError("expected devices that take tolls in ascending "
                               "order, at least one");
    if (failed(verifyDevices(migration, bound, "bound", *list)))
      return failure();
  }
  for (const std::optional<ArrayRef<int64_t>> list :
       {bound.getNicsOut(), bound.getNicsIn()})
    for (int64_t device : list.value_or(ArrayRef<int64_t>()))
      if (migration.getFirstOfNic(device) != device)
        return bound.emitOpError()
               << "expected device " << migration.getFirstOfNic(device)
               << " in place of " << device
               << ", which is not the first that has its NIC";
  return success();
}

LogicalResult TimeBoundOp::verify() {
  auto migration = cast<MigrationOp>((*this)->getParentOp());
  if (!migration.getResources())
    return emitOpError("the migration states no resources");
  if (getOfPause() && !migration.getDeferred())
    return emitOpError("bounds the pause, but nothing is deferred");
  if (hasTolls())
    return verifyTolls(migration, *this);
  if (!getDirection() || getDevices().empty() || !llvm::is_sorted(getDevices()))
    return emitOpError("expected devices in ascending order, at least one");
  if (failed(verifyDevices(migration, *this, "bound", getDevices())))
    return failure();
  const std::optional<ArrayRef<int64_t>> inner = getInner();
  if (!inner)
    return success();
  if (inner->empty() || !llvm::is_sorted(*inner))
    return emitOpError("expected inner devices in ascending order, at least "
                       "one");
  // Ascending devices include ascending ones of them, each once.
  if (!std::includes(getDevices().begin(), getDevices().end(), inner->begin(),
                     inner->end()))
    return emitOpError("expected inner devices to be some of the bound's, each "
                       "once");
  return success();
}

LogicalResult RoleBoundOp::verify() {
  auto migration = cast<MigrationOp>((*this)->getParentOp());
  if (!migration.getResources())
    return emitOpError("the migration states no resources");
  const size_t rows = getWitness() == Witness::Fewest
                          ? 0
                          : static_cast<size_t>(migration.getCurr().getRoles());
  if (getU().size() != rows || (rows == 0 && !getV().empty()))
    return emitOpError() << "expected " << rows << " values of u, got "
                         << getU().size() << ", and " << getV().size()
                         << " of v";
  if (getInside().empty() || !llvm::is_sorted(getInside()) ||
      getInside().front() < 0)
    return emitOpError("expected nodes or devices in ascending order, at least "
                       "one");
  return success();
}

LogicalResult PlacementOp::verify() {
  auto migration = cast<MigrationOp>((*this)->getParentOp());
  if (static_cast<int64_t>(getDevices().size()) !=
      migration.getCurr().getWorld())
    return emitOpError() << "expected " << migration.getCurr().getWorld()
                         << " devices, one a current rank, got "
                         << getDevices().size();
  return verifyDevices(migration, *this, "placement", getDevices());
}
