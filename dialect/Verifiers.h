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

} // namespace etc

#endif // ETC_DIALECT_VERIFIERS_H
