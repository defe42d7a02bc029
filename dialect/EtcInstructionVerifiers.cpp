//===- EtcInstructionVerifiers.cpp - Invariants of programs ---------------===//
//
// Verifiers stay local: pairing, coverage and the like belong to
// etc-verify-plan.
//
//===----------------------------------------------------------------------===//

#include "dialect/Limits.h"
#include "dialect/Verifiers.h"
#include "dialect/Workloads.h"

#include "llvm/ADT/STLExtras.h"

using namespace etc;
using namespace mlir;

/// Its own devices are distinct. Several replicas may have one peer, but none
/// is its own: what it has, it keeps by etc.refer.
static LogicalResult verifyBindings(ProgramOp op) {
  auto migration = cast<MigrationOp>(op->getParentOp());
  if (failed(verifyDevices(migration, op, "program", op.getDevices())))
    return failure();
  const int64_t count = migration.getDeviceCount();
  for (auto list :
       llvm::drop_begin(op.getBindings().getAsRange<DenseI64ArrayAttr>()))
    for (auto [own, peer] :
         llvm::zip_equal(op.getDevices(), list.asArrayRef())) {
      if (peer < 0 || peer >= count)
        return op.emitOpError()
               << "peer device " << peer << " is not in [0, " << count << ")";
      if (peer == own)
        return op.emitOpError() << "device " << own << " is its own peer";
    }
  return success();
}

static LogicalResult verifyIsInstruction(Operation &op) {
  if (isa<RoundOp, InstructionOpInterface>(op))
    return success();
  return op.emitOpError("is no instruction, but in a program");
}

/// Rounds are in order. Nothing but rounds and instructions is there: every
/// device that an instruction names is an argument, bound to a list.
static LogicalResult verifyBody(ProgramOp op) {
  int64_t next = 0;
  bool isDeferred = false;
  for (RoundOp round : op.getBody().getOps<RoundOp>()) {
    const int64_t index = round.getIndex();
    if (index < next)
      return round.emitOpError() << "expected ascending rounds, got " << index
                                 << " after " << next - 1;
    if (index >= mostRounds)
      return round.emitOpError()
             << "round " << index << " is not in [0, " << mostRounds << ")";
    next = index + 1;
    if (isDeferred && !round.getDeferred())
      return round.emitOpError()
             << "round " << index << " is not deferred, but one before it is";
    isDeferred = round.getDeferred();
  }
  for (Operation &inner : op.getBody().getOps()) {
    if (failed(verifyIsInstruction(inner)))
      return failure();
    if (auto round = dyn_cast<RoundOp>(inner))
      for (Operation &instruction : round.getBody().getOps())
        if (failed(verifyIsInstruction(instruction)))
          return failure();
  }
  return success();
}

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
  return success(succeeded(verifyBindings(*this)) &&
                 succeeded(verifyBody(*this)));
}

/// The types are the migration's; an instruction without ids says nothing.
static LogicalResult verifyInstruction(InstructionOpInterface op) {
  if (op.getWid().empty() || op.getWt().empty())
    return op->emitOpError("expected at least one workload and one type");
  return verifyTypes(op, op.getWt());
}

static LogicalResult verifyTransfer(TransferOpInterface op) {
  if (op.getPeer() == op->getParentOfType<ProgramOp>().getSelf())
    return op->emitOpError("is between a device and itself, expected etc.refer");
  return verifyInstruction(op);
}

LogicalResult SendOp::verify() {
  if (getTransit() && !getHop())
    return emitOpError("passes on what has arrived, expected a 'hop'");
  return verifyTransfer(*this);
}

LogicalResult RecvOp::verify() { return verifyTransfer(*this); }
LogicalResult ReferOp::verify() { return verifyInstruction(*this); }
LogicalResult ZeroOp::verify() { return verifyInstruction(*this); }
LogicalResult ReleaseOp::verify() { return verifyInstruction(*this); }

LogicalResult DeriveOp::verify() {
  if (failed(verifyInstruction(*this)))
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
