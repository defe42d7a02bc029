//===- Verifiers.h - What several verifiers check --------------*- C++ -*-===//

#ifndef ETC_DIALECT_VERIFIERS_H
#define ETC_DIALECT_VERIFIERS_H

#include "dialect/Etc.h"

namespace etc {

/// Devices of a list are distinct and in the cluster; `what` names the list in
/// messages.
mlir::LogicalResult verifyDevices(MigrationOp migration, mlir::Operation *op,
                                  llvm::StringRef what,
                                  llvm::ArrayRef<int64_t> devices);

/// A role lies in the grid of its side.
mlir::LogicalResult verifyRole(mlir::Operation *op, Side side, RoleAttr role);

/// The types are the migration's.
mlir::LogicalResult verifyTypes(mlir::Operation *op, mlir::ArrayAttr types);

/// Whether plan files have elements of the type; `name` is the workload type.
mlir::LogicalResult
verifyElementType(llvm::StringRef name, mlir::Type type,
                  llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// All state of a side fits into mostBytes, on all ranks together. The error
/// points at the request's model.
mlir::LogicalResult verifySums(MigrationOp migration);

} // namespace etc

#endif // ETC_DIALECT_VERIFIERS_H
