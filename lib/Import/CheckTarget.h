//===- CheckTarget.h - Whether a target has room for all state --*- C++ -*-===//

#ifndef ETC_LIB_IMPORT_CHECKTARGET_H
#define ETC_LIB_IMPORT_CHECKTARGET_H

#include "dialect/Workloads.h"

namespace etc {

/// Where the current side is an inventory, fails with a diagnostic if no role
/// of it takes some element that the previous side has: it would be dropped.
mlir::LogicalResult checkTarget(MigrationOp migration,
                                const TensorTable &table);

} // namespace etc

#endif // ETC_LIB_IMPORT_CHECKTARGET_H
