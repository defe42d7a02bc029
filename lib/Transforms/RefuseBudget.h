//===- RefuseBudget.h - A memory budget that is not met ---------*- C++ -*-===//

#ifndef ETC_LIB_TRANSFORMS_REFUSEBUDGET_H
#define ETC_LIB_TRANSFORMS_REFUSEBUDGET_H

#include "dialect/Etc.h"
#include "etc/Optimize/Rounds/Budget.h"

namespace etc {

/// An error that names the least budget found. Its metadata is the amount
/// alone, for whoever has tried more than one plan.
mlir::LogicalResult refuseBudget(MigrationOp migration,
                                 const rounds::Budget &budget,
                                 const rounds::Budget &least);

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_REFUSEBUDGET_H
