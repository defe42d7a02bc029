#include "core/plan/UnfoldSections.h"

#include "core/plan/Configuration.h"
#include "core/plan/PlanFile.h"
#include "core/plan/SectionMap.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>

using namespace etc::plan;

namespace {

/// The numbers in the plan of all: those of a section follow each other.
struct Numbers {
  std::vector<std::vector<uint32_t>> ofKind; ///< their numbers here
  std::vector<uint32_t> ofNone;              ///< of no kind
  std::vector<uint32_t> place;               ///< [here] among those, or in all
  std::vector<bool> isOfNone;                ///< [here]
  std::vector<uint32_t> first;               ///< [section]

  void add(uint32_t number, int32_t kind);
  uint32_t numberIn(uint32_t section, uint32_t number) const {
    return isOfNone[number] ? place[number] : first[section] + place[number];
  }
};

/// Writes the sections of a plan out, one after the other.
class Unfolder {
public:
  Unfolder(const fb::Plan &stated, bool isOutline)
      : map(stated), isOutline(isOutline) {
    stated.UnPackTo(&old);
  }

  fb::PlanT run();

private:
  void unfoldTensors();
  void addTensor(uint32_t tensor, uint32_t section);
  void linkTensor(uint32_t tensor, uint32_t section);
  void addShard(uint32_t shard, uint32_t section);
  void unfoldShards();
  void unfoldPrograms();
  std::unique_ptr<fb::ProgramT> programIn(uint32_t section,
                                          const fb::ProgramT &first) const;
  void placeRanks(Side side);
  void unfoldCertificates();
  std::vector<uint64_t> dualsOfNodes(const std::vector<uint64_t> &duals) const;
  std::vector<uint64_t> dualsOfRoles(const std::vector<uint64_t> &duals,
                                     Side side) const;
  std::unique_ptr<fb::TimeBoundT>
  boundOf(std::unique_ptr<fb::TimeBoundT> bound) const;
  void unfoldForecast();

  uint32_t tensorIn(uint32_t section, uint32_t tensor) const {
    return tensors.numberIn(ownSection(section, tensor), tensor);
  }
  /// Where a section finds a tensor; what is of no layer is in the first.
  uint32_t ownSection(uint32_t section, uint32_t tensor) const {
    const int32_t kind = map.kindOfTensor(tensor);
    return kind < 0 ? 0 : map.sectionOf(kind, section);
  }
  uint32_t shardIn(uint32_t section, uint32_t shard) const {
    return shards.numberIn(ownSection(section, old.shards[shard].tensor()),
                           shard);
  }

  const SectionMap map;
  const bool isOutline;
  fb::PlanT old, plan;
  Numbers tensors, shards;
};

} // namespace

//===----------------------------------------------------------------------===//
// Tensors and shards
//===----------------------------------------------------------------------===//

void Numbers::add(uint32_t number, int32_t kind) {
  isOfNone.push_back(kind < 0);
  std::vector<uint32_t> &list = kind < 0 ? ofNone : ofKind[kind];
  place.push_back(list.size());
  list.push_back(number);
}

void Unfolder::addTensor(uint32_t number, uint32_t section) {
  auto tensor = std::make_unique<fb::TensorT>(*old.tensors[number]);
  if (map.kindOfTensor(number) >= 0)
    tensor->name = map.nameIn(section, number);
  else
    tensors.place[number] = plan.tensors.size();
  plan.tensors.push_back(std::move(tensor));
}

/// Layers in their order, between what comes before the first of them and
/// behind the last.
void Unfolder::unfoldTensors() {
  const auto count = static_cast<uint32_t>(old.tensors.size());
  tensors.ofKind.resize(map.kindCount());
  for (uint32_t t = 0; t != count; ++t)
    tensors.add(t, map.kindOfTensor(t));
  uint32_t firstLayer = 0;
  while (firstLayer != count && map.kindOfTensor(firstLayer) < 0)
    addTensor(firstLayer++, 0);
  for (uint32_t section = 0; section != map.sectionCount(); ++section) {
    tensors.first.push_back(plan.tensors.size());
    for (uint32_t t : tensors.ofKind[map.kindOf(section)])
      addTensor(t, section);
  }
  for (uint32_t t : tensors.ofNone)
    if (t > firstLayer)
      addTensor(t, 0);
  for (uint32_t t : tensors.ofNone)
    linkTensor(t, 0);
  for (uint32_t section = 0; section != map.sectionCount(); ++section)
    for (uint32_t t : tensors.ofKind[map.kindOf(section)])
      linkTensor(t, section);
}

void Unfolder::linkTensor(uint32_t number, uint32_t section) {
  fb::TensorT &tensor = *plan.tensors[tensorIn(section, number)];
  for (int32_t *source : {&tensor.tied_to, &tensor.derived_from})
    if (*source >= 0)
      *source = static_cast<int32_t>(tensorIn(section, *source));
}

void Unfolder::addShard(uint32_t number, uint32_t section) {
  const fb::Shard &first = old.shards[number];
  plan.shards.emplace_back(tensorIn(section, first.tensor()), plan.boxes.size(),
                           first.box_count());
  const auto begin = old.boxes.begin() + first.first_box();
  plan.boxes.insert(plan.boxes.end(), begin, begin + first.box_count());
}

/// Those of no layer first.
void Unfolder::unfoldShards() {
  shards.ofKind.resize(map.kindCount());
  for (uint32_t s = 0; s != old.shards.size(); ++s)
    shards.add(s, map.kindOfTensor(old.shards[s].tensor()));
  for (uint32_t s : shards.ofNone)
    addShard(s, 0);
  for (uint32_t section = 0; section != map.sectionCount(); ++section) {
    shards.first.push_back(plan.shards.size());
    for (uint32_t s : shards.ofKind[map.kindOf(section)])
      addShard(s, section);
  }
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

/// Replicas are in the order of their devices.
static void sortReplicas(fb::ProgramT &program) {
  std::vector<uint32_t> order(program.devices.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return program.devices[a] < program.devices[b];
  });
  auto sort = [&](std::vector<uint32_t> &list) {
    std::vector<uint32_t> sorted;
    for (uint32_t replica : order)
      sorted.push_back(list[replica]);
    list = std::move(sorted);
  };
  sort(program.devices);
  for (const auto &peers : program.peers)
    sort(peers->devices);
}

std::unique_ptr<fb::ProgramT>
Unfolder::programIn(uint32_t section, const fb::ProgramT &first) const {
  auto program = std::make_unique<fb::ProgramT>(first);
  auto move = [&](std::vector<uint32_t> &devices) {
    for (uint32_t &device : devices)
      device = map.deviceIn(section, device);
  };
  move(program->devices);
  for (const auto &peers : program->peers)
    move(peers->devices);
  sortReplicas(*program);
  for (auto [role, side] : {std::pair(program->prev_role.get(), Side::Prev),
                            std::pair(program->curr_role.get(), Side::Curr)})
    if (role)
      role->mutate_stage(map.stageIn(section, side, role->stage()));
  for (auto *list :
       {&program->prev_shards, &program->curr_shards, &program->transit_shards})
    for (uint32_t &shard : *list)
      shard = shardIn(section, shard);
  for (const auto &round : program->rounds)
    for (fb::Op &op : round->ops) {
      op.mutate_tensor(tensorIn(section, op.tensor()));
      op.mutate_source(tensorIn(section, op.source()));
    }
  return program;
}

void Unfolder::unfoldPrograms() {
  std::vector<uint32_t> devices;
  for (uint32_t section = 0; section != map.sectionCount(); ++section)
    for (const auto &program : old.programs) {
      const int32_t kind = map.kindOfDevice(program->devices.front());
      if (static_cast<uint32_t>(kind) != map.kindOf(section))
        continue;
      plan.programs.push_back(programIn(section, *program));
      const auto &own = plan.programs.back()->devices;
      plan.participants.insert(plan.participants.end(), own.begin(), own.end());
    }
  std::sort(plan.participants.begin(), plan.participants.end());
}

/// The ranks of a stage are in a row.
void Unfolder::placeRanks(Side side) {
  const bool isCurr = side == Side::Curr;
  const auto &placement = isCurr ? old.curr_placement : old.prev_placement;
  const fb::ConfigurationT &grid = isCurr ? *plan.curr : *plan.prev;
  const size_t ranks = size_t{grid.tp} * grid.dp * grid.cp;
  for (uint32_t stage = 0; stage != grid.pp; ++stage) {
    const auto [section, here] = map.placeOf(side, stage);
    for (size_t i = 0; i != ranks; ++i)
      (isCurr ? plan.curr_placement : plan.prev_placement)
          .push_back(map.deviceIn(section, placement[here * ranks + i]));
  }
}

//===----------------------------------------------------------------------===//
// Bounds
//===----------------------------------------------------------------------===//

/// Roles are numbered stage by stage.
std::vector<uint64_t> Unfolder::dualsOfRoles(const std::vector<uint64_t> &duals,
                                             Side side) const {
  const bool isCurr = side == Side::Curr;
  const size_t inStage = duals.size() / (isCurr ? old.curr->pp : old.prev->pp);
  std::vector<uint64_t> all;
  for (uint32_t stage = 0; stage != (isCurr ? plan.curr->pp : plan.prev->pp);
       ++stage) {
    const auto begin = duals.begin() + map.placeOf(side, stage).stage * inStage;
    all.insert(all.end(), begin, begin + inStage);
  }
  return all;
}

/// The previous roles of the devices of each node.
static std::vector<std::set<std::array<int64_t, 3>>>
rolesOnNodes(const fb::PlanT &plan) {
  std::vector<uint32_t> nodeOf;
  for (uint32_t node = 0; node != plan.nodes.size(); ++node)
    nodeOf.insert(nodeOf.end(), plan.nodes[node], node);
  std::vector<std::set<std::array<int64_t, 3>>> roles(plan.nodes.size());
  for (const auto &program : plan.programs)
    if (const fb::Role *role = program->prev_role.get())
      for (uint32_t device : program->devices)
        roles[nodeOf[device]].insert(
            {role->stage(), role->slot(), role->replica()});
  return roles;
}

/// A column is a class of nodes, in the order of first nodes. Nodes without
/// previous roles keep nothing.
std::vector<uint64_t>
Unfolder::dualsOfNodes(const std::vector<uint64_t> &duals) const {
  std::map<std::set<std::array<int64_t, 3>>, uint64_t> columns;
  std::vector<uint64_t> dualOfAll(plan.nodes.size());
  const auto here = rolesOnNodes(old);
  std::vector<uint64_t> columnOf;
  for (const auto &roles : here)
    columnOf.push_back(
        columns.try_emplace(roles, columns.size()).first->second);
  for (uint32_t section = 0; section != map.sectionCount(); ++section)
    for (uint32_t node = 0; node != here.size(); ++node)
      if (!here[node].empty() &&
          map.kindOfNode(node) == static_cast<int32_t>(map.kindOf(section)))
        dualOfAll[map.nodeIn(section, node)] = duals[columnOf[node]];
  columns.clear();
  std::vector<uint64_t> all;
  const auto there = rolesOnNodes(plan);
  for (uint32_t node = 0; node != there.size(); ++node)
    if (columns.try_emplace(there[node], columns.size()).second)
      all.push_back(dualOfAll[node]);
  return all;
}

void Unfolder::unfoldCertificates() {
  plan.certificates = std::move(old.certificates);
  for (const auto &certificate : plan.certificates) {
    certificate->row_duals = dualsOfRoles(certificate->row_duals, Side::Curr);
    const bool isMoved = certificate->quantity == fb::Quantity::moved_bytes;
    certificate->column_duals =
        isMoved ? dualsOfRoles(certificate->column_duals, Side::Prev)
                : dualsOfNodes(certificate->column_duals);
    certificate->bound = isMoved ? plan.summary->bound_moved_bytes
                                 : plan.summary->bound_internode_bytes;
  }
}

/// The witness is of the first section of each kind.
std::unique_ptr<fb::TimeBoundT>
Unfolder::boundOf(std::unique_ptr<fb::TimeBoundT> bound) const {
  if (bound)
    for (auto *list : {&bound->devices, &bound->inner}) {
      for (uint32_t &device : *list) {
        const auto kind = static_cast<uint32_t>(map.kindOfDevice(device));
        device = map.deviceIn(map.firstOf(kind), device);
      }
      std::sort(list->begin(), list->end());
    }
  return bound;
}

void Unfolder::unfoldForecast() {
  plan.forecast = std::move(old.forecast);
  for (size_t round = 0; round != plan.forecast.size(); ++round)
    plan.forecast[round].mutate_moved_bytes(old.sections->moved_bytes[round]);
}

fb::PlanT Unfolder::run() {
  plan.version = old.version;
  plan.features = old.features & ~kSectionsFeature;
  plan.model = old.model;
  plan.vocab = old.vocab;
  plan.patterns = std::move(old.patterns);
  plan.deferred_rounds = old.deferred_rounds;
  plan.gradient_bytes = old.gradient_bytes;
  plan.resources = std::move(old.resources);
  plan.prev = std::move(old.sections->prev);
  plan.curr = std::move(old.sections->curr);
  plan.nodes = std::move(old.sections->nodes);
  plan.summary = std::move(old.sections->summary);
  unfoldForecast();
  unfoldTensors();
  if (isOutline) {
    for (const auto &program : old.programs) {
      program->rounds.clear();
      for (auto *list : {&program->prev_shards, &program->curr_shards,
                         &program->transit_shards})
        list->clear();
    }
  } else {
    plan.bounds = std::move(old.bounds);
    unfoldShards();
  }
  unfoldPrograms();
  placeRanks(Side::Prev);
  placeRanks(Side::Curr);
  plan.time_bound = boundOf(std::move(old.time_bound));
  plan.pause_bound = boundOf(std::move(old.pause_bound));
  unfoldCertificates();
  return std::move(plan);
}

fb::PlanT etc::plan::unfoldSections(const fb::Plan &plan) {
  return Unfolder(plan, /*isOutline=*/false).run();
}

fb::PlanT etc::plan::outlineOfSections(const fb::Plan &plan) {
  return Unfolder(plan, /*isOutline=*/true).run();
}
