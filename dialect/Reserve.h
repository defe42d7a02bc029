//===- Reserve.h - What a memory budget leaves free -------------*- C++ -*-===//

#ifndef ETC_DIALECT_RESERVE_H
#define ETC_DIALECT_RESERVE_H

#include "dialect/Etc.h"

namespace etc {

/// The discardable attribute of a migration whose request reserves a part of
/// its budget: `budget_bytes` is what is left, errors name what was asked for.
inline constexpr llvm::StringLiteral reservedAttr = "etc.reserved_bytes";

/// 0 where nothing is reserved.
inline int64_t getReservedBytes(MigrationOp migration) {
  auto bytes = migration->getAttrOfType<mlir::IntegerAttr>(reservedAttr);
  return bytes ? bytes.getInt() : 0;
}

} // namespace etc

#endif // ETC_DIALECT_RESERVE_H
