//===- Verifiers.cpp - What several verifiers check -----------------------===//

#include "dialect/Verifiers.h"

#include "llvm/ADT/DenseSet.h"

using namespace etc;
using namespace mlir;

LogicalResult etc::verifyDevices(MigrationOp migration, Operation *op,
                                 StringRef what, ArrayRef<int64_t> devices) {
  // A sum over all nodes.
  const int64_t count = migration.getDeviceCount();
  llvm::DenseSet<int64_t> seen;
  for (int64_t device : devices) {
    if (device < 0 || device >= count)
      return op->emitOpError() << what << " device " << device
                               << " is not in [0, " << count << ")";
    if (!seen.insert(device).second)
      return op->emitOpError()
             << what << " device " << device << " is listed twice";
  }
  return success();
}

LogicalResult etc::verifyRole(Operation *op, Side side, RoleAttr role) {
  ParallelAttr parallel = op->getParentOfType<MigrationOp>().getParallel(side);
  if (parallel.hasRole(role))
    return success();
  return op->emitOpError() << "role " << role.str() << " is not in the "
                           << stringifySide(side) << " grid " << parallel.str();
}

LogicalResult etc::verifyTypes(Operation *op, ArrayAttr types) {
  auto migration = op->getParentOfType<MigrationOp>();
  for (auto name : types.getAsRange<StringAttr>())
    if (!migration.lookupType(name))
      return op->emitOpError() << "type '" << name.getValue()
                               << "' is not one of the migration's";
  return success();
}

LogicalResult
etc::verifyElementType(StringRef name, Type type,
                       function_ref<InFlightDiagnostic()> emitError) {
  if (type.isBF16() || type.isF16() || type.isF32() || type.isF64() ||
      type.isInteger(64) || type.isInteger(8))
    return success();
  return emitError() << "type '" << name
                     << "': expected bf16, f16, f32, f64, i64 or i8, got "
                     << type;
}
