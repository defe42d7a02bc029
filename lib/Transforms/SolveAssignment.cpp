//===- SolveAssignment.cpp - Which previous rank takes which current role -----===//

#include "Devices.h"
#include "Holdings.h"
#include "etc/Assignment/Expand.h"
#include "etc/Assignment/Solver.h"
#include "etc/Transforms/Passes.h"

#include "mlir/IR/Builders.h"

namespace etc {
#define GEN_PASS_DEF_SOLVEASSIGNMENTPASS
#include "etc/Transforms/Passes.h.inc"
} // namespace etc

using namespace etc;
using namespace mlir;

namespace {
/// The replicas of every previous role whose devices are alive and stay.
using Members = SmallVector<SmallVector<int64_t>>;

struct SolveAssignment : ::etc::impl::SolveAssignmentPassBase<SolveAssignment> {
  void runOnOperation() override;
  void createPairs(OpBuilder &builder, const assignment::Problem &problem,
                   ArrayRef<int64_t> flow, const Members &members);
};
} // namespace

static Members findMembers(MigrationOp migration, const Devices &devices) {
  ParallelAttr prev = migration.getPrev();
  SmallVector<int64_t> placement = migration.getPrevPlacement();
  Members members(prev.getRoles());
  for (int64_t replica = 0; replica < prev.getDp(); ++replica)
    for (int64_t role = 0; role < prev.getRoles(); ++role)
      if (devices.isUsable(placement[rankOfPlace(prev, {role, replica})]))
        members[role].push_back(replica);
  return members;
}

/// Bytes of every current role in the types that move: the sum of its workloads.
static SmallVector<int64_t> roleBytes(MigrationOp migration, const TensorTable &table) {
  Holdings curr(migration, table, Side::Curr);
  SmallVector<int64_t> bytes(curr.size());
  for (int64_t role = 0; role < curr.size(); ++role)
    for (const Piece &piece : curr[role])
      bytes[role] += table.getElements(piece) * table.getMovedBytesPerElement();
  return bytes;
}

/// The classes: a row for every current role, a column for every previous one, an edge where they share bytes.
static assignment::Problem buildProblem(MigrationOp migration, MatrixAttr costs,
                                        const Members &members) {
  assignment::Problem problem;
  SmallVector<int64_t> bytes = roleBytes(migration, TensorTable(migration));
  problem.supply.assign(costs.getRows(), migration.getCurr().getDp());
  for (const auto &replicas : members)
    problem.capacity.push_back(replicas.size());
  for (int64_t row = 0; row < costs.getRows(); ++row)
    for (int64_t column = 0; column < costs.getColumns(); ++column)
      if (int64_t kept = bytes[row] - costs.at(row, column))
        problem.edges.push_back({static_cast<int32_t>(row), static_cast<int32_t>(column),
                                 {0, kept}});
  return problem;
}

/// One `etc.pair` for every pair of roles in use, and one for what no previous rank takes.
void SolveAssignment::createPairs(OpBuilder &builder, const assignment::Problem &problem,
                                  ArrayRef<int64_t> flow, const Members &members) {
  MigrationOp migration = getOperation();
  int64_t currTp = migration.getCurr().getTp(), prevTp = migration.getPrev().getTp();
  auto seats = assignment::expand(problem, {flow.data(), flow.size()});
  for (auto [row, replicas] : llvm::enumerate(seats)) {
    llvm::MapVector<int64_t, std::pair<SmallVector<int64_t>, SmallVector<int64_t>>> pairs;
    for (auto [replica, seat] : llvm::enumerate(replicas)) {
      auto &[curr, prev] = pairs[seat.col];
      curr.push_back(replica);
      if (seat.matched())
        prev.push_back(members[seat.col][seat.member]);
    }
    auto role = RoleAttr::get(&getContext(), row / currTp, row % currTp);
    for (auto &[column, lists] : pairs) {
      RoleAttr prevRole;
      DenseI64ArrayAttr prevReplicas;
      if (column >= 0) {
        prevRole = RoleAttr::get(&getContext(), column / prevTp, column % prevTp);
        prevReplicas = builder.getDenseI64ArrayAttr(lists.second);
      }
      PairOp::create(builder, migration.getLoc(), role, builder.getDenseI64ArrayAttr(lists.first),
                     prevRole, prevReplicas);
    }
  }
}

static DenseI64ArrayAttr deviceParts(OpBuilder &builder, ArrayRef<assignment::Weight> duals) {
  return builder.getDenseI64ArrayAttr(llvm::map_to_vector(
      duals, [](const assignment::Weight &weight) { return weight.device; }));
}

void SolveAssignment::runOnOperation() {
  MigrationOp migration = getOperation();
  MatrixAttr costs;
  for (CostMatrixOp matrix : migration.getOps<CostMatrixOp>())
    if (matrix.getUnit() == CostUnit::Bytes)
      costs = matrix.getCosts();
  if (!costs) {
    migration.emitError("has no cost matrix in bytes; run etc-build-cost-matrix first");
    return signalPassFailure();
  }
  Devices devices(migration);
  Members members = findMembers(migration, devices);
  assignment::Problem problem = buildProblem(migration, costs, members);
  if (std::optional<std::string> error = assignment::check(problem)) {
    migration.emitError() << "assignment: " << *error;
    return signalPassFailure();
  }
  edges += problem.edges.size();
  assignment::Solution solution = assignment::solve(problem);
  OpBuilder builder = OpBuilder::atBlockEnd(&migration.getBody().front());
  createPairs(builder, problem, solution.flow, members);
  SmallVector<int64_t> counts;
  for (const auto &replicas : members)
    counts.push_back(replicas.size());
  CertificateOp::create(builder, migration.getLoc(), solution.total.device,
                        deviceParts(builder, solution.u).asArrayRef(),
                        deviceParts(builder, solution.v).asArrayRef(), counts);
}
