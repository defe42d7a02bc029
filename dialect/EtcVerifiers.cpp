//===- EtcVerifiers.cpp - Invariants of the ops ---------------------------===//
//
// Verifiers stay local: pairing, coverage and the like belong to etc-verify-plan.
//
//===----------------------------------------------------------------------===//

#include "dialect/Workloads.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include <numeric>

using namespace etc;
using namespace mlir;

//===----------------------------------------------------------------------===//
// MigrationOp
//===----------------------------------------------------------------------===//

int64_t MigrationOp::getSliceCount() {
  return std::lcm(getPrev().getTp(), getCurr().getTp());
}

int64_t MigrationOp::getDeviceCount() {
  return std::accumulate(getNodes().begin(), getNodes().end(), int64_t(0));
}

SmallVector<int64_t> MigrationOp::getPrevPlacement() {
  if (auto devices = getPrevDevices())
    return SmallVector<int64_t>(*devices);
  return llvm::to_vector(llvm::seq<int64_t>(getPrev().getWorld()));
}

/// Devices of a list are distinct and in the cluster.
static LogicalResult verifyDevices(MigrationOp migration, Operation *op,
                                   StringRef what, ArrayRef<int64_t> devices) {
  llvm::DenseSet<int64_t> seen;
  for (int64_t device : devices) {
    if (device < 0 || device >= migration.getDeviceCount())
      return op->emitOpError()
             << what << " device " << device << " is not in [0, "
             << migration.getDeviceCount() << ")";
    if (!seen.insert(device).second)
      return op->emitOpError()
             << what << " device " << device << " is listed twice";
  }
  return success();
}

/// One side fits: its stages, its devices and their number.
static LogicalResult verifySide(MigrationOp op, Side side,
                                std::optional<ArrayRef<int64_t>> devices) {
  ParallelAttr parallel = op.getParallel(side);
  StringRef name = stringifySide(side);
  if (static_cast<int64_t>(op.getLayers()) % parallel.getPp())
    return op.emitOpError()
           << name << ": " << op.getLayers()
           << " layers do not divide over PP = " << parallel.getPp();
  if (parallel.getWorld() > op.getDeviceCount())
    return op.emitOpError() << name << ": a world of " << parallel.getWorld()
                            << " ranks exceeds the cluster's "
                            << op.getDeviceCount() << " devices";
  if (!devices)
    return success();
  if (static_cast<int64_t>(devices->size()) != parallel.getWorld())
    return op.emitOpError() << name << ": expected " << parallel.getWorld()
                            << " devices, one a rank, got " << devices->size();
  return verifyDevices(op, op, name, *devices);
}

LogicalResult MigrationOp::verify() {
  if (llvm::any_of(getNodes(), [](int64_t devices) { return devices < 1; }))
    return emitOpError("every node must have at least one device");
  if (failed(verifySide(*this, Side::Prev, getPrevDevices())) ||
      failed(verifySide(*this, Side::Curr, getCurrDevices())) ||
      failed(verifyDevices(*this, *this, "failed",
                           getFailed().value_or(ArrayRef<int64_t>()))) ||
      failed(verifyDevices(*this, *this, "leaving",
                           getLeaving().value_or(ArrayRef<int64_t>()))))
    return failure();
  if (getBudgetBytes() && getBudgetPpm())
    return emitOpError(
        "has a budget in bytes and one in ppm, expected one of them");
  llvm::StringSet<> names;
  for (auto [type, state] :
       llvm::enumerate(getTypes().getAsRange<StateAttr>())) {
    if (!names.insert(state.getName().getValue()).second)
      return emitOpError() << "type '" << state.getName().getValue()
                           << "' is listed twice";
    if (!state.getDtype().isIntOrFloat() ||
        state.getDtype().getIntOrFloatBitWidth() % 8)
      return emitOpError() << "type '" << state.getName().getValue()
                           << "' must have whole bytes, got "
                           << state.getDtype();
    if (failed(verifyDerivation(type)))
      return failure();
  }
  return names.empty() ? emitOpError("expected at least one type") : success();
}

LogicalResult MigrationOp::verifyRegions() {
  llvm::StringMap<TensorOp> byName;
  for (TensorOp tensor : getOps<TensorOp>())
    if (!byName.try_emplace(tensor.getName(), tensor).second) {
      InFlightDiagnostic diag = tensor.emitOpError("is declared twice");
      diag.attachNote(byName[tensor.getName()].getLoc())
          << "first declared here";
      return diag;
    }
  for (TensorOp tensor : getOps<TensorOp>())
    if (std::optional<StringRef> twin = tensor.getTiedTo();
        twin && !byName.contains(*twin))
      return tensor.emitOpError()
             << "is tied to '" << *twin << "', which is not declared";
  return success();
}

//===----------------------------------------------------------------------===//
// TensorOp
//===----------------------------------------------------------------------===//

static constexpr StringLiteral layerMark = "{layer}";

StringRef TensorOp::getShortName() {
  StringRef name = getName();
  size_t mark = name.find(layerMark);
  return mark == StringRef::npos
             ? name
             : name.drop_front(mark + layerMark.size()).ltrim('.');
}

LogicalResult TensorOp::verify() {
  bool perLayer = getName().contains(layerMark);
  if (perLayer != (getPart() == ::etc::Part::Layer))
    return emitOpError()
           << "expected '" << layerMark
           << "' in the name of a tensor in a layer, and only there";
  if (getShape().empty() ||
      llvm::any_of(getShape(), [](int64_t n) { return n < 1; }))
    return emitOpError("expected a shape of positive extents");
  if (getSplit() && static_cast<size_t>(*getSplit()) >= getShape().size())
    return emitOpError() << "splits axis " << *getSplit()
                         << " of a tensor with " << getShape().size()
                         << " axes";
  std::optional<ArrayRef<int64_t>> prev = getPrevShape();
  if (!prev)
    return success();
  if (prev->size() != getShape().size() ||
      prev->drop_front() != getShape().drop_front())
    return emitOpError("prev shape may differ along axis 0 only");
  if (getCutAxis() != 0)
    return emitOpError(
        "prev shape may differ only along the axis that is split");
  return success();
}

//===----------------------------------------------------------------------===//
// Workloads, cost matrix, sketch, placement
//===----------------------------------------------------------------------===//

/// A role lies in the grid of its side.
static LogicalResult verifyRole(Operation *op, Side side, RoleAttr role) {
  ParallelAttr parallel =
      cast<MigrationOp>(op->getParentOp()).getParallel(side);
  if (role.getStage() < parallel.getPp() && role.getSlice() < parallel.getTp())
    return success();
  return op->emitOpError() << "role " << role.str() << " is not in the "
                           << stringifySide(side) << " grid " << parallel.str();
}

/// Every id names something that the migration has.
static LogicalResult verifyWorkloads(Operation *op, ArrayAttr ids) {
  auto migration = op->getParentOfType<MigrationOp>();
  for (auto id : ids.getAsRange<WorkloadAttr>())
    if (failed(
            verifyWorkload(migration, id, [&] { return op->emitOpError(); })))
      return failure();
  return success();
}

LogicalResult WorkloadOp::verify() {
  if (failed(verifyRole(*this, getSide(), getRole())))
    return failure();
  return verifyWorkloads(*this, getWid());
}

LogicalResult CostMatrixOp::verify() {
  auto migration = cast<MigrationOp>((*this)->getParentOp());
  ParallelAttr curr = migration.getCurr(), prev = migration.getPrev();
  int64_t rows = curr.getRoles(), columns = prev.getRoles();
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
                            migration.getCurr().getDp())))
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
                        migration.getPrev().getDp());
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
  auto migration = op->getParentOfType<MigrationOp>();
  if (op.getWid().empty() || op.getWt().empty())
    return op->emitOpError("expected at least one workload and one type");
  for (auto name : op.getWt().getAsRange<StringAttr>())
    if (!migration.lookupType(name))
      return op->emitOpError() << "type '" << name.getValue()
                               << "' is not one of the migration's";
  return verifyWorkloads(op, op.getWid());
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
