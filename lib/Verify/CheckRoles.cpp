//===- CheckRoles.cpp - V2: devices have the roles of their ranks ---------===//

#include "Rules.h"

#include "llvm/ADT/DenseSet.h"

using namespace etc;
using namespace mlir;

static LogicalResult checkPrograms(const PlanUnderTest &plan) {
  for (auto [index, op] : llvm::enumerate(plan.programs)) {
    ProgramOp program = op;
    for (auto [place, device] : llvm::enumerate(program.getDevices())) {
      const Appearance &first = plan.appearances.at(device);
      if (first.program != index || first.place != place)
        return Refusal(program, Rule::Roles)
               << "device " << device << " has a program already";
    }
  }
  return success();
}

/// The device of a rank has the role of that rank in its program.
static LogicalResult checkRole(const PlanUnderTest &plan, Side side,
                               int64_t rank, int64_t device) {
  ParallelAttr parallel = plan.migration.getParallel(side);
  RoleAttr expected =
      parallel.getRole(LayoutOracle::roleOfRank(parallel, rank));
  auto appearance = plan.appearances.find(device);
  if (appearance == plan.appearances.end())
    return Refusal(plan.migration, Rule::Roles)
           << "device " << device << " of " << stringifySide(side) << " rank "
           << rank << " has no program";
  ProgramOp program = plan.programs[appearance->second.program];
  std::optional<RoleAttr> role =
      side == Side::Prev ? program.getPrev() : program.getCurr();
  if (role == expected)
    return success();
  return Refusal(program, Rule::Roles)
         << "device " << device << " is " << stringifySide(side) << " rank "
         << rank << ", expected the role " << expected.str();
}

LogicalResult etc::checkRoles(const PlanUnderTest &plan) {
  if (failed(checkPrograms(plan)))
    return failure();
  MigrationOp migration = plan.migration;
  ArrayRef<int64_t> placed = migration.getOnly<PlacementOp>().getDevices();
  llvm::DenseSet<int64_t> dead;
  dead.insert_range(migration.getFailed().value_or(ArrayRef<int64_t>()));
  size_t holders = 0, takers = placed.size();
  for (auto [rank, device] : llvm::enumerate(placed))
    if (failed(checkRole(plan, Side::Curr, rank, device)))
      return failure();
  for (auto [rank, device] : llvm::enumerate(migration.getPrevPlacement())) {
    if (dead.contains(device))
      continue;
    ++holders;
    if (failed(checkRole(plan, Side::Prev, rank, device)))
      return failure();
  }
  for (ProgramOp program : plan.programs) {
    holders -= program.getPrev() ? program.getDevices().size() : 0;
    takers -= program.getCurr() ? program.getDevices().size() : 0;
  }
  if (holders == 0 && takers == 0)
    return success();
  return Refusal(migration, Rule::Roles)
         << "programs have devices with roles that no rank has";
}
