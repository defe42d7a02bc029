//===- RefuseBudget.cpp - A memory budget that is not met -----------------===//

#include "RefuseBudget.h"

#include "dialect/Reserve.h"

using namespace etc;
using namespace mlir;

/// As a request writes it, with what is reserved.
static std::string asWritten(MigrationOp migration, rounds::Budget budget) {
  budget.amount += getReservedBytes(migration);
  return budget.str();
}

LogicalResult etc::refuseBudget(MigrationOp migration,
                                const rounds::Budget &budget,
                                const rounds::Budget &least) {
  InFlightDiagnostic error = migration.emitFieldError({"memory_budget"});
  error << "memory budget: " << asWritten(migration, budget);
  if (const int64_t reserved = getReservedBytes(migration))
    error << ", " << reserved << " of them reserved,";
  error.getUnderlyingDiagnostic()->getMetadata().emplace_back(least.amount);
  return error << " is infeasible; the least found is "
               << asWritten(migration, least);
}
