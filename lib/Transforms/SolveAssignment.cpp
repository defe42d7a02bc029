//===- SolveAssignment.cpp - Which previous role each role comes from -----===//

#include "BoundRoles.h"
#include "PairWriter.h"
#include "etc/Analysis/Benefits.h"
#include "etc/Optimize/Assignment/Expand.h"
#include "etc/Optimize/Placement/Bound.h"
#include "etc/Transforms/Passes.h"

namespace etc {
#define GEN_PASS_DEF_SOLVEASSIGNMENTPASS
#include "etc/Transforms/Passes.h.inc"
} // namespace etc

using namespace etc;
using namespace mlir;
using assignment::GroupedProblem;
using assignment::HubSolution;

namespace {
struct SolveAssignment : ::etc::impl::SolveAssignmentPassBase<SolveAssignment> {
  LogicalResult runOnMigration(MigrationOp migration) override;
  FailureOr<HubSolution> solve(const GroupedProblem &problem);
};
} // namespace

/// A row a current role, a column a previous role.
static GroupedProblem poseOnDevices(const Devices &devices,
                                    const Benefits &benefits,
                                    int64_t replicas) {
  std::vector<int64_t> members(benefits.onDevice.getColumns());
  for (int64_t device = 0; device < devices.size(); ++device)
    if (int64_t role = devices.getPrevRole(device);
        role >= 0 && devices.isUsable(device))
      ++members[role];
  return placement::poseBound(benefits.onDevice, replicas, std::move(members));
}

/// A row a current role, a column a class of nodes.
static GroupedProblem poseOnNodes(const Devices &devices,
                                  const Benefits &benefits, int64_t replicas) {
  std::vector<int64_t> members(benefits.onNode.getColumns());
  for (int64_t device = 0; device < devices.size(); ++device)
    if (devices.isUsable(device))
      ++members[benefits.classes.ofNode[devices.getNode(device)]];
  return placement::poseBound(benefits.onNode, replicas, std::move(members));
}

FailureOr<HubSolution> SolveAssignment::solve(const GroupedProblem &problem) {
  if (std::optional<std::string> error = problem.check())
    return FailureOr<HubSolution>(getOperation().emitError()
                                  << "assignment: " << *error);
  edges += problem.getEdges();
  return problem.solve();
}

/// Members of a previous role are its replicas that may take a role.
static SmallVector<RankSource> sourcesOf(MigrationOp migration,
                                         const Devices &devices,
                                         const HubSolution &solved) {
  SmallVector<SmallVector<int64_t>> members(migration.getPrev().getRoles());
  const SmallVector<int64_t> replicaOf = prevReplicas(migration);
  for (int64_t device = 0; device < devices.size(); ++device)
    if (int64_t role = devices.getPrevRole(device);
        role >= 0 && devices.isUsable(device))
      members[role].push_back(replicaOf[device]);
  SmallVector<RankSource> sources;
  for (const auto &row :
       assignment::expand(solved.problem, solved.solution.flow))
    for (const assignment::Match &match : row)
      sources.push_back(
          match.isMade()
              ? RankSource{match.col, members[match.col][match.member]}
              : RankSource());
  return sources;
}

static void createCertificate(OpBuilder &builder, MigrationOp migration,
                              Level level, const assignment::Solution &solution,
                              ArrayRef<int64_t> members) {
  auto values = [](ArrayRef<assignment::Weight> duals) {
    return llvm::map_to_vector(
        duals, [](assignment::Weight weight) { return weight.device; });
  };
  CertificateOp::create(builder, migration.getFieldLoc({"curr"}), level,
                        solution.total.device, values(solution.u),
                        values(solution.v), members);
}

LogicalResult SolveAssignment::runOnMigration(MigrationOp migration) {
  const auto &devices = getAnalysis<Devices>();
  const auto &benefits = getAnalysis<Benefits>();
  const int64_t replicas = migration.getCurr().getRoleReplicas();
  const GroupedProblem onDevices = poseOnDevices(devices, benefits, replicas),
                       onNodes = poseOnNodes(devices, benefits, replicas);
  FailureOr<HubSolution> deviceBound = solve(onDevices), nodeBound = failure();
  if (succeeded(deviceBound))
    nodeBound = solve(onNodes);
  if (failed(nodeBound))
    return failure();
  OpBuilder builder = OpBuilder::atBlockEnd(&migration.getBody().front());
  createPairs(builder, migration, sourcesOf(migration, devices, *deviceBound));
  createCertificate(builder, migration, Level::Device, deviceBound->solution,
                    onDevices.capacity);
  createCertificate(builder, migration, Level::Node, nodeBound->solution,
                    onNodes.capacity);
  writeRoleBound(migration, getAnalysis<TensorTable>(),
                 getAnalysis<BothHoldings>(), devices, benefits.classes);
  markAnalysesPreserved<TensorTable, BothHoldings, Devices, Benefits>();
  return success();
}
