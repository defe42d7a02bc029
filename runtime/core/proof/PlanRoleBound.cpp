// The bound over all roles in a plan file.
//
// The facts of the proof, from the plan's own shards.

#include "core/proof/PlanRoleBound.h"

#include "core/plan/Configuration.h"
#include "core/proof/RolePlace.h"

#include <set>

using namespace etc;
using namespace etc::plan;
namespace fb = etc::plan::fb;

//===----------------------------------------------------------------------===//
// What roles need and held
//===----------------------------------------------------------------------===//

namespace {

/// The claims of all roles, of each from the first program that has it.
class ClaimReader {
public:
  explicit ClaimReader(const PlanIndex &index) : index(index) {}
  SharedBytes run();

private:
  void addRoles(etc::plan::Side side);
  void add(uint32_t shard, bool isNeed, int64_t role);

  const PlanIndex &index;
  std::vector<std::vector<Claim>> claims; ///< [tensor], of primaries
};

} // namespace

/// Padding that is new is made, not moved.
void ClaimReader::add(uint32_t shard, bool isNeed, int64_t role) {
  const uint32_t tensor = index.plan().shards()->Get(shard)->tensor();
  if (index.tensor(tensor).is_derived())
    return;
  const uint32_t source = index.primary(tensor);
  const fb::Tensor &primary = index.tensor(source);
  const Box old = boxOfShape(primary.prev_shape() ? *primary.prev_shape()
                                                  : *primary.shape());
  for (uint32_t i = 0; i != index.boxCount(shard); ++i)
    if (auto common = intersect(Box(index.shardBox(shard, i)), old))
      claims[source].push_back({std::move(*common), isNeed, role});
}

void ClaimReader::addRoles(etc::plan::Side side) {
  const bool isPrev = side == etc::plan::Side::Prev;
  const fb::Configuration &grid =
      isPrev ? *index.plan().prev() : *index.plan().curr();
  std::set<uint64_t> known;
  for (uint32_t p = 0; p != index.programCount(); ++p) {
    const fb::Role *role =
        isPrev ? index.program(p).prev_role() : index.program(p).curr_role();
    const auto number = role ? numberOfRole(grid, *role) : std::nullopt;
    if (!number || !known.insert(*number).second)
      continue;
    for (const Holding &holding : index.holdings(p, side))
      add(holding.shard, !isPrev, static_cast<int64_t>(*number));
  }
}

SharedBytes ClaimReader::run() {
  claims.resize(index.plan().tensors()->size());
  addRoles(etc::plan::Side::Prev);
  addRoles(etc::plan::Side::Curr);
  ClaimedBytes bytesOf;
  for (uint32_t tensor = 0; tensor != claims.size(); ++tensor)
    if (!claims[tensor].empty())
      addClaims(std::move(claims[tensor]), index.elementBytes(tensor), bytesOf);
  return countShared(bytesOf);
}

//===----------------------------------------------------------------------===//
// The cluster
//===----------------------------------------------------------------------===//

static void readDevices(const PlanIndex &index, RoleBoundFacts &facts) {
  facts.nodes.assign(index.nodes().begin(), index.nodes().end());
  int64_t devices = 0;
  for (int64_t size : facts.nodes)
    devices += size;
  facts.prevRole.assign(devices, -1);
  facts.canTakeRole.assign(devices, true);
  if (const auto *barred = index.plan().barred())
    for (uint32_t device : *barred)
      facts.canTakeRole[device] = false;
  for (const fb::Program *program : *index.plan().programs())
    if (program->prev_role())
      if (auto role = numberOfRole(*index.plan().prev(), *program->prev_role()))
        for (uint32_t device : *program->devices())
          facts.prevRole[device] = static_cast<int64_t>(*role);
}

static RoleBoundFacts readFacts(const PlanIndex &index) {
  const fb::Plan &plan = index.plan();
  const fb::Configuration &curr = *plan.curr();
  const fb::Resources &resources = *plan.resources();
  RoleBoundFacts facts;
  readDevices(index, facts);
  facts.place = plan.role_bound()->place();
  facts.linkRate = static_cast<int64_t>(resources.link_rate());
  facts.nicRate = static_cast<int64_t>(resources.nic_rate());
  facts.nics = resources.nics();
  facts.prevRoles = static_cast<int64_t>(roleCount(*plan.prev()));
  facts.currRoles = static_cast<int64_t>(roleCount(curr));
  for (uint32_t rank = 0; rank != plan.curr_placement()->size(); ++rank)
    facts.currRole.push_back(static_cast<int64_t>(roleOfRank(curr, rank)));
  facts.tensorParallel = curr.tp();
  facts.replicas = static_cast<int64_t>(replicasOfRole(curr));
  facts.shared = ClaimReader(index).run();
  return facts;
}

/// Numbers that no signed one is are none that the proof finds.
static std::vector<int64_t> numbersOf(const flatbuffers::Vector<uint64_t> *v) {
  return v ? std::vector<int64_t>(v->begin(), v->end())
           : std::vector<int64_t>();
}

static StatedRoleBound read(const fb::RoleBound &bound) {
  return {bound.of_nodes(),
          bound.witness(),
          {bound.inside()->begin(), bound.inside()->end()},
          numbersOf(bound.row_duals()),
          numbersOf(bound.column_duals()),
          static_cast<int64_t>(bound.bytes()),
          static_cast<int64_t>(bound.rate())};
}

Status etc::verifyRoleBound(const PlanIndex &index) {
  const fb::RoleBound *bound = index.plan().role_bound();
  if (!bound)
    return Status::success();
  if (index.plan().prev()->inventory() || index.plan().curr()->inventory())
    return malformed("role_bound: is about an inventory, which has no roles");
  const RoleBoundFacts facts = readFacts(index);
  if (auto flaw = findFlaw(facts, read(*bound)))
    return malformed("role_bound: ", *flaw);
  // A bound of a narrower place may be above the time of the plan.
  const auto &placement = *index.plan().curr_placement();
  if (auto flaw =
          RolePlace(facts).findFlaw({placement.begin(), placement.end()}))
    return malformed("role_bound: ", *flaw);
  return Status::success();
}
