//===- JointPlacement.cpp - Devices and pairs, decided together -----------===//

#include "JointPlacement.h"

#include "PairWriter.h"
#include "etc/Optimize/Placement/Solver.h"
#include "etc/Transforms/Passes.h"

#include "mlir/IR/Builders.h"

using namespace etc;
using namespace mlir;

placement::Policy etc::policyOf(std::optional<Place> place) {
  switch (place.value_or(Place::Any)) {
  case Place::Any:
    return placement::Policy::Any;
  case Place::Tp:
    return placement::Policy::Tp;
  case Place::Pack:
    return placement::Policy::Pack;
  }
  llvm_unreachable("a place");
}

/// The ranks of tensor-parallel groups, by role and replica: tensor ranks are
/// the fastest dimension of a stage.
static std::vector<int64_t> groupsOf(ParallelAttr curr) {
  const int64_t slots = curr.getSlots(), replicas = curr.getReplicas();
  std::vector<int64_t> groups;
  for (int64_t stage = 0; stage < curr.getPp(); ++stage)
    for (int64_t number = 0; number < slots * replicas; ++number)
      groups.push_back((stage * slots + number % slots) * replicas +
                       number / slots);
  return groups;
}

static std::vector<placement::Device> devicesOf(MigrationOp migration,
                                                const Devices &devices) {
  std::vector<placement::Device> list;
  for (int64_t device = 0; device < devices.size(); ++device)
    list.push_back({static_cast<int32_t>(devices.getNode(device)),
                    static_cast<int32_t>(devices.getPrevRole(device)),
                    devices.isUsable(device) ? placement::Status::Usable
                                             : placement::Status::Draining});
  for (int64_t device : migration.getFailed().value_or(ArrayRef<int64_t>()))
    list[device].status = placement::Status::Failed;
  return list;
}

placement::Problem etc::posePlacement(MigrationOp migration,
                                      const Devices &devices,
                                      const Benefits &benefits) {
  ParallelAttr curr = migration.getCurr();
  placement::Problem problem;
  problem.replicas = curr.getRoleReplicas();
  problem.stages = curr.getPp();
  problem.groupSize = curr.getTp();
  problem.groups = groupsOf(curr);
  problem.devices = devicesOf(migration, devices);
  problem.nodeClass.assign(benefits.classes.ofNode.begin(),
                           benefits.classes.ofNode.end());
  problem.onDevice = benefits.onDevice;
  problem.onNode = benefits.onNode;
  problem.policy = policyOf(migration.getPlace());
  return problem;
}

SmallVector<int64_t> etc::toRanks(ParallelAttr curr,
                                  ArrayRef<int64_t> deviceOf) {
  SmallVector<int64_t> ranks(deviceOf.size());
  const int64_t replicas = curr.getRoleReplicas();
  for (auto [number, device] : llvm::enumerate(deviceOf))
    ranks[rankOfPlace(curr, {static_cast<int64_t>(number) / replicas,
                             static_cast<int64_t>(number) % replicas})] =
        device;
  return ranks;
}

static LogicalResult reportMisfit(MigrationOp migration,
                                  const placement::Problem &problem) {
  InFlightDiagnostic diag = migration.emitFieldError({"place", "cluster"})
                            << "tensor-parallel groups of " << problem.groupSize
                            << " do not fit the nodes: ";
  const placement::Fit fit = placement::fitGroups(problem);
  if (fit.isWithinNode)
    diag << fit.fitting << " of " << problem.getGroups() << " find one with "
         << problem.groupSize << " usable devices";
  else
    diag << "each takes several to itself, of which there are too few that are "
            "large enough";
  return diag << "; use --place=any, or a smaller TP";
}

std::optional<placement::Rates> etc::ratesOf(MigrationOp migration) {
  ResourcesAttr resources = migration.getResourcesAttr();
  if (!resources)
    return std::nullopt;
  return placement::Rates{resources.getNics(), resources.getNicRate(),
                          resources.getLinkRate()};
}

static Attribute toAttr(MLIRContext *context,
                        const PlacedRoles::Without &without) {
  return Builder(context).getDenseI64ArrayAttr(
      {without.slowest, without.entering});
}

static void mark(MigrationOp migration, StringRef name,
                 const std::optional<PlacedRoles::Without> &without) {
  if (without)
    migration->setDiscardableAttr(name,
                                  toAttr(migration.getContext(), *without));
}

static void
markNarrower(MigrationOp migration,
             ArrayRef<std::pair<Place, PlacedRoles::Without>> narrower) {
  Builder builder(migration.getContext());
  SmallVector<NamedAttribute> entries;
  for (const auto &[place, without] : narrower)
    entries.push_back(builder.getNamedAttr(
        stringifyPlace(place), toAttr(builder.getContext(), without)));
  if (!entries.empty())
    migration->setDiscardableAttr(narrowerMark,
                                  builder.getDictionaryAttr(entries));
}

FailureOr<SmallVector<int64_t>>
etc::placeJointly(MigrationOp migration, const Devices &devices,
                  const Benefits &benefits, const TensorTable &table,
                  const BothHoldings &holdings, PlacementOptions options) {
  using Ranks = FailureOr<SmallVector<int64_t>>;
  ParallelAttr curr = migration.getCurr();
  const int64_t usable =
      llvm::count_if(llvm::seq(devices.size()),
                     [&](int64_t device) { return devices.isUsable(device); });
  if (usable < curr.getWorld())
    return Ranks(migration.emitFieldError({"curr"})
                 << "curr needs " << curr.getWorld() << " devices, " << usable
                 << " are alive and stay; add nodes or lower a degree");
  if (auto fixed = migration.getCurrDevices())
    return SmallVector<int64_t>(*fixed);
  placement::Problem problem = posePlacement(migration, devices, benefits);
  problem.isTotalFirst = options.totalFirst;
  if (options.within)
    problem.policy = std::max(problem.policy, policyOf(options.within));
  std::optional<std::optional<placement::Entering>> entering;
  const auto listEntering =
      [&]() -> const std::optional<placement::Entering> & {
    if (!entering)
      entering =
          benefits.classes.listEntering(table, holdings.prev, holdings.curr);
    return *entering;
  };
  const std::optional<placement::Rates> rates = ratesOf(migration);
  const std::optional<PlacedRoles> placed =
      solvePlacement(problem, listEntering, rates, options.search);
  if (!placed)
    return Ranks(reportMisfit(migration, problem));
  mark(migration, sharedNodesMark, placed->withoutSharing);
  mark(migration, moreNicsMark, placed->withoutNics);
  if (options.listsNarrower)
    markNarrower(migration, listNarrower(problem, listEntering, rates,
                                         options.search, placed->solution));
  return toRanks(curr, placed->solution.deviceOf);
}

void etc::rewritePairs(MigrationOp migration, const Devices &devices,
                       ArrayRef<int64_t> placement) {
  ParallelAttr curr = migration.getCurr();
  const SmallVector<int64_t> replicaOf = prevReplicas(migration);
  SmallVector<RankSource> sources(placement.size());
  for (auto [rank, device] : llvm::enumerate(placement)) {
    const RankPlace place = placeOfRank(curr, rank);
    const int64_t prevRole = devices.getPrevRole(device);
    sources[place.role * curr.getRoleReplicas() + place.replica] = {
        prevRole, prevRole < 0 ? device : replicaOf[device]};
  }
  const auto before = llvm::to_vector(migration.getOps<PairOp>());
  OpBuilder builder(before.front());
  createPairs(builder, migration, sources);
  for (PairOp pair : before)
    pair.erase();
}
