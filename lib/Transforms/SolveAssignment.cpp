//===- SolveAssignment.cpp - Which device takes which current role --------===//

#include "Bundles.h"
#include "NodeClasses.h"
#include "Placement.h"
#include "etc/Transforms/Passes.h"

#include "mlir/IR/Builders.h"

namespace etc {
#define GEN_PASS_DEF_SOLVEASSIGNMENTPASS
#include "etc/Transforms/Passes.h.inc"
} // namespace etc

using namespace etc;
using namespace mlir;

namespace {
/// Solves the assignment of one migration.
class Solver {
public:
  Solver(MigrationOp migration, MatrixAttr costs, bool totalFirst);

  LogicalResult certify(Level level);
  LogicalResult place();
  int64_t getEdges() const { return edges; }

private:
  WorthTable worthsOnDevices(MatrixAttr costs);
  GroupedProblem deviceProblem() const;
  GroupedProblem nodeProblem() const;
  std::optional<Placement> solvePlacement();
  LogicalResult reportMisfit();
  Placement fixedPlacement(ArrayRef<int64_t> devices);
  void createPairs(const Placement &placement);
  void createPair(int64_t role, int64_t prevRole,
                  ArrayRef<std::pair<int64_t, int64_t>> ranks);

  MigrationOp migration;
  OpBuilder builder;
  TensorTable table;
  Devices devices;
  Holdings prev, curr;
  NodeClasses classes;
  PlacementProblem problem;
  int64_t edges = 0;
};

struct SolveAssignment : ::etc::impl::SolveAssignmentPassBase<SolveAssignment> {
  using SolveAssignmentPassBase::SolveAssignmentPassBase;
  LogicalResult runOnMigration(MigrationOp migration) override;
};
} // namespace

Solver::Solver(MigrationOp migration, MatrixAttr costs, bool totalFirst)
    : migration(migration),
      builder(OpBuilder::atBlockEnd(&migration.getBody().front())),
      table(migration), devices(migration), prev(migration, table, Side::Prev),
      curr(migration, table, Side::Curr), classes(devices, prev) {
  ParallelAttr parallel = migration.getCurr();
  problem.pp = parallel.getPp();
  problem.tp = parallel.getTp();
  problem.slots = parallel.getSlots();
  problem.replicas = parallel.getReplicas();
  problem.dp = parallel.getRoleReplicas();
  problem.nodeClass = classes.ofNode;
  problem.totalFirst = totalFirst;
  for (int64_t device = 0; device < devices.size(); ++device)
    if (devices.isUsable(device))
      problem.devices.push_back(
          {device, devices.getNode(device), devices.getPrevRole(device)});
  problem.onDevice = worthsOnDevices(costs);
  problem.onNode = classes.worthsOf(table, prev, curr);
}

//===----------------------------------------------------------------------===//
// Worths and certificates
//===----------------------------------------------------------------------===//

/// What every current role shares with every previous one, from the costs.
WorthTable Solver::worthsOnDevices(MatrixAttr costs) {
  auto poolsOf = [](const Holdings &side) {
    std::vector<int32_t> pools;
    for (int64_t role = 0; role < side.size(); ++role)
      pools.push_back(side.getPool(role));
    return pools;
  };
  WorthTable worths(poolsOf(curr), poolsOf(prev));
  for (int64_t row = 0; row < costs.getRows(); ++row) {
    int64_t bytes = 0;
    for (const Piece &piece : curr.getShared(row))
      bytes += table.getMovedBytes(piece);
    for (int64_t column = 0; column < costs.getColumns(); ++column)
      worths.atGroups(row, column) = bytes - costs.at(row, column);
  }
  for (OverlapOp overlap : migration.getOps<OverlapOp>())
    for (auto [role, bytes] : llvm::zip_equal(
             overlap.getPrev().getAsRange<RoleAttr>(), overlap.getBytes()))
      worths.add(curr.getIndex(overlap.getCurr()), prev.getIndex(role), bytes);
  return worths;
}

/// A row a current role, a column a previous role.
GroupedProblem Solver::deviceProblem() const {
  std::vector<int64_t> members(prev.size());
  for (const Candidate &candidate : problem.devices)
    if (candidate.prevRole >= 0)
      ++members[candidate.prevRole];
  return problemOf(problem.onDevice, problem.dp, std::move(members));
}

/// A row a current role, a column a class of nodes.
GroupedProblem Solver::nodeProblem() const {
  std::vector<int64_t> members(classes.roles.size());
  for (const Candidate &candidate : problem.devices)
    ++members[problem.nodeClass[candidate.node]];
  return problemOf(problem.onNode, problem.dp, std::move(members));
}

LogicalResult Solver::certify(Level level) {
  GroupedProblem bound =
      level == Level::Device ? deviceProblem() : nodeProblem();
  if (std::optional<std::string> error = bound.check())
    return migration.emitError() << "assignment: " << *error;
  edges += bound.getEdges();
  assignment::Solution solution = bound.solve().solution;
  auto values = [](ArrayRef<assignment::Weight> duals) {
    return llvm::map_to_vector(
        duals, [](assignment::Weight weight) { return weight.device; });
  };
  CertificateOp::create(
      builder, migration.getFieldLoc({"curr"}), level, solution.total.device,
      values(solution.u), values(solution.v),
      SmallVector<int64_t>(bound.capacity.begin(), bound.capacity.end()));
  return success();
}

//===----------------------------------------------------------------------===//
// Placement
//===----------------------------------------------------------------------===//

Placement Solver::fixedPlacement(ArrayRef<int64_t> list) {
  Placement placement{SmallVector<int64_t>(problem.getRanks()), {}};
  for (auto [rank, device] : llvm::enumerate(list)) {
    RankPlace place = placeOfRank(migration.getCurr(), rank);
    placement.deviceOf[place.role * problem.dp + place.replica] = device;
  }
  return placement;
}

std::optional<Placement> Solver::solvePlacement() {
  if (auto fixed = migration.getCurrDevices())
    return fixedPlacement(*fixed);
  Place place = migration.getPlace().value_or(Place::Any);
  return place == Place::Any ? placeAnywhere(problem)
                             : placeInNodes(problem, place == Place::Pack);
}

/// Ranks of one current role that come from one previous role (-1: none). Each
/// is a replica and its device, or its previous replica.
void Solver::createPair(int64_t role, int64_t prevRole,
                        ArrayRef<std::pair<int64_t, int64_t>> ranks) {
  SmallVector<int64_t> replicas, sources;
  for (auto [replica, source] : ranks) {
    replicas.push_back(replica);
    sources.push_back(source);
  }
  RoleAttr prevAttr;
  DenseI64ArrayAttr list = builder.getDenseI64ArrayAttr(sources), none;
  if (prevRole >= 0)
    prevAttr = prev.getRole(prevRole);
  PairOp::create(builder, migration.getFieldLoc({"curr"}), curr.getRole(role),
                 builder.getDenseI64ArrayAttr(replicas), prevAttr,
                 prevAttr ? list : none, prevAttr ? none : list);
}

void Solver::createPairs(const Placement &placement) {
  SmallVector<int64_t> prevReplica(devices.size(), -1);
  for (auto [rank, device] : llvm::enumerate(migration.getPrevPlacement()))
    prevReplica[device] = placeOfRank(migration.getPrev(), rank).replica;
  for (int64_t role = 0; role < problem.getRoles(); ++role) {
    llvm::MapVector<int64_t, SmallVector<std::pair<int64_t, int64_t>>> byPrev;
    for (int64_t replica = 0; replica < problem.dp; ++replica) {
      int64_t device = placement.deviceOf[role * problem.dp + replica];
      int64_t prevRole = devices.getPrevRole(device);
      byPrev[prevRole].push_back(
          {replica, prevRole < 0 ? device : prevReplica[device]});
    }
    for (auto &[prevRole, ranks] : byPrev)
      createPair(role, prevRole, ranks);
  }
}

LogicalResult Solver::reportMisfit() {
  InFlightDiagnostic diag = migration.emitFieldError({"place", "cluster"})
                            << "tensor-parallel groups of " << problem.tp
                            << " do not fit the nodes: ";
  if (exceedsNode(problem))
    diag << "each takes several to itself, of which there are too few that are "
            "large enough";
  else
    diag << countSeats(problem) << " of " << problem.getRanks() / problem.tp
         << " find one with " << problem.tp << " usable devices";
  return diag << "; use --place=any, or a smaller TP";
}

LogicalResult Solver::place() {
  if (static_cast<int64_t>(problem.devices.size()) < problem.getRanks())
    return migration.emitFieldError({"curr"})
           << "curr needs " << problem.getRanks() << " devices, "
           << problem.devices.size()
           << " are alive and stay; add nodes or lower a degree";
  std::optional<Placement> placement = solvePlacement();
  if (!placement)
    return reportMisfit();
  createPairs(*placement);
  return success();
}

LogicalResult SolveAssignment::runOnMigration(MigrationOp migration) {
  Solver solver(migration, migration.getCosts(CostUnit::Bytes), totalFirst);
  if (failed(solver.place()) || failed(solver.certify(Level::Device)) ||
      failed(solver.certify(Level::Node)))
    return failure();
  edges += solver.getEdges();
  return success();
}
