//===- EtcPlanVerifiers.cpp - Invariants of what passes add ---------------===//
//
// Verifiers stay local: pairing, coverage and the like belong to
// etc-verify-plan.
//
//===----------------------------------------------------------------------===//

#include "dialect/Verifiers.h"
#include "dialect/Workloads.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

using namespace etc;
using namespace mlir;

//===----------------------------------------------------------------------===//
// Workloads, cost matrix, sketch, placement
//===----------------------------------------------------------------------===//

/// A role lies in the grid of its side.
static LogicalResult verifyRole(Operation *op, Side side, RoleAttr role) {
  ParallelAttr parallel =
      cast<MigrationOp>(op->getParentOp()).getParallel(side);
  if (parallel.hasRole(role))
    return success();
  return op->emitOpError() << "role " << role.str() << " is not in the "
                           << stringifySide(side) << " grid " << parallel.str();
}

/// The types are the migration's.
static LogicalResult verifyTypes(Operation *op, ArrayAttr types) {
  auto migration = op->getParentOfType<MigrationOp>();
  for (auto name : types.getAsRange<StringAttr>())
    if (!migration.lookupType(name))
      return op->emitOpError() << "type '" << name.getValue()
                               << "' is not one of the migration's";
  return success();
}

LogicalResult WorkloadOp::verify() {
  auto migration = cast<MigrationOp>((*this)->getParentOp());
  if (!migration.getParallel(getSide()).hasPool(getRole()) &&
      failed(verifyRole(*this, getSide(), getRole())))
    return failure();
  return getWt() ? verifyTypes(*this, *getWt()) : success();
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

LogicalResult PlacementOp::verify() {
  auto migration = cast<MigrationOp>((*this)->getParentOp());
  if (static_cast<int64_t>(getDevices().size()) !=
      migration.getCurr().getWorld())
    return emitOpError() << "expected " << migration.getCurr().getWorld()
                         << " devices, one a current rank, got "
                         << getDevices().size();
  return verifyDevices(migration, *this, "placement", getDevices());
}

//===----------------------------------------------------------------------===//
// Programs and instructions
//===----------------------------------------------------------------------===//

LogicalResult ProgramOp::verify() {
  if (getBindings().empty() ||
      getBody().getNumArguments() != getBindings().size())
    return emitOpError() << "expected a list of devices for each of "
                         << getBody().getNumArguments()
                         << " arguments, the first being the program's own";
  size_t replicas = getDevices().size();
  for (auto list : getBindings().getAsRange<DenseI64ArrayAttr>())
    if (static_cast<size_t>(list.size()) != replicas)
      return emitOpError() << "expected lists of " << replicas
                           << " devices, got one of " << list.size();
  if (!llvm::is_sorted(getDevices()))
    return emitOpError("expected its devices in ascending order");
  if ((getCurr() && failed(verifyRole(*this, Side::Curr, *getCurr()))) ||
      (getPrev() && failed(verifyRole(*this, Side::Prev, *getPrev()))))
    return failure();
  int64_t next = 0;
  for (RoundOp round : getBody().getOps<RoundOp>()) {
    if (static_cast<int64_t>(round.getIndex()) < next)
      return round.emitOpError() << "expected ascending rounds, got "
                                 << round.getIndex() << " after " << next - 1;
    next = round.getIndex() + 1;
  }
  return success();
}

/// The types are the migration's; an instruction without ids says nothing.
static LogicalResult verifyInstruction(InstructionOpInterface op) {
  if (op.getWid().empty() || op.getWt().empty())
    return op->emitOpError("expected at least one workload and one type");
  return verifyTypes(op, op.getWt());
}

/// One end of a transfer is the program's own device.
static LogicalResult verifyTransfer(TransferOpInterface op, Value own,
                                    StringRef end) {
  Value self = op->getParentOfType<ProgramOp>().getSelf();
  if (own != self)
    return op->emitOpError()
           << "expected its " << end << " to be the program's own device";
  if (op.getPeer() == self)
    return op->emitOpError("sends to itself, expected etc.refer");
  if (op.getTied() && op.getHop())
    return op->emitOpError(
        "relays what arrived as the tied copy itself, expected no 'of_twin'");
  return verifyInstruction(op);
}

LogicalResult SendOp::verify() {
  return verifyTransfer(*this, getSid(), "source");
}
LogicalResult RecvOp::verify() {
  return verifyTransfer(*this, getDid(), "destination");
}

/// A local instruction is on the program's own device.
static LogicalResult verifyLocal(InstructionOpInterface op, Value device) {
  if (device != op->getParentOfType<ProgramOp>().getSelf())
    return op->emitOpError("expected to be on the program's own device");
  return verifyInstruction(op);
}

LogicalResult ReferOp::verify() { return verifyLocal(*this, getDevice()); }
LogicalResult ZeroOp::verify() { return verifyLocal(*this, getDevice()); }

LogicalResult DeriveOp::verify() {
  if (failed(verifyLocal(*this, getDevice())))
    return failure();
  auto migration = (*this)->getParentOfType<MigrationOp>();
  for (auto name : getWt().getAsRange<StringAttr>())
    if (!migration.getDerivationSource(*migration.lookupType(name)))
      return emitOpError() << "type '" << name.getValue() << "' is not derived"
                           << (migration.getDeriveNone()
                                   ? " under 'derive none'"
                                   : " from one of the migration's types");
  return success();
}

LogicalResult ReleaseOp::verify() { return verifyLocal(*this, getDevice()); }
