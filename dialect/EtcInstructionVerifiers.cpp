//===- EtcInstructionVerifiers.cpp - Invariants of programs ---------------===//
//
// Verifiers stay local: pairing, coverage and the like belong to
// etc-verify-plan.
//
//===----------------------------------------------------------------------===//

#include "dialect/Limits.h"
#include "dialect/Verifiers.h"
#include "dialect/Workloads.h"

#include "llvm/ADT/DenseSet.h"
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

/// Rounds are in order.
static LogicalResult verifyRounds(ProgramOp op) {
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
                 succeeded(verifyRounds(*this)));
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

namespace {
/// Verifies the instructions of one program: there are very many, and most have
/// the types of others.
class InstructionVerifier {
public:
  explicit InstructionVerifier(ProgramOp program)
      : migration(cast<MigrationOp>(program->getParentOp())),
        self(program.getSelf()) {}

  /// Of a program or a round.
  LogicalResult verify(Region &body);

private:
  LogicalResult verify(Operation &op);
  LogicalResult verify(TransferOpInterface op) const;
  LogicalResult verify(DeriveOp op);

  MigrationOp migration;
  const Value self;
  llvm::DenseSet<ArrayAttr> known; ///< lists of the migration's types
};
} // namespace

LogicalResult InstructionVerifier::verify(TransferOpInterface op) const {
  if (op.getPeer() == self)
    return op->emitOpError(
        "is between a device and itself, expected etc.refer");
  if (isa<SendOp>(op) && op.getTransit() && !op.getHop())
    return op->emitOpError("passes on what has arrived, expected a 'hop'");
  return success();
}

LogicalResult InstructionVerifier::verify(DeriveOp op) {
  for (auto name : op.getWt().getAsRange<StringAttr>())
    if (!migration.getDerivationSource(*migration.lookupType(name)))
      return op.emitOpError()
             << "type '" << name.getValue() << "' is not derived"
             << (migration.getDeriveNone()
                     ? " under 'derive none'"
                     : " from one of the migration's types");
  return success();
}

/// The types are the migration's; an instruction without ids says nothing.
LogicalResult InstructionVerifier::verify(Operation &op) {
  auto instruction = dyn_cast<InstructionOpInterface>(op);
  if (!instruction)
    return op.emitOpError("is no instruction, but in a program");
  const ArrayAttr types = instruction.getWt();
  if (instruction.getWid().empty() || types.empty())
    return op.emitOpError("expected at least one workload and one type");
  if (known.insert(types).second && failed(verifyTypes(&op, types)))
    return failure();
  if (auto transfer = dyn_cast<TransferOpInterface>(op))
    return verify(transfer);
  auto derive = dyn_cast<DeriveOp>(op);
  return derive ? verify(derive) : success();
}

LogicalResult InstructionVerifier::verify(Region &body) {
  for (Operation &op : body.getOps()) {
    auto round = dyn_cast<RoundOp>(op);
    if (failed(round ? verify(round.getBody()) : verify(op)))
      return failure();
  }
  return success();
}

/// Nothing but rounds and instructions is there: every device that an
/// instruction names is an argument, bound to a list.
LogicalResult ProgramOp::verifyRegions() {
  return InstructionVerifier(*this).verify(getBody());
}
