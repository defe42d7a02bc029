//===- Bundles.cpp - Ranks that must share a node -------------------------===//

#include "Bundles.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"

using namespace etc;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::SmallVectorImpl;

/// A tensor-parallel group: tp consecutive ranks of one stage.
struct Group {
  int64_t stage, number;
};

static int64_t groupsOfStage(const PlacementProblem &problem) {
  return problem.slots * problem.replicas / problem.tp;
}

static int64_t rankOf(const PlacementProblem &problem, Group group,
                      int64_t slice) {
  int64_t number = group.number * problem.tp + slice;
  return (group.stage * problem.slots + number % problem.slots) *
             problem.replicas +
         number / problem.slots;
}

static SmallVector<Host> findNodes(const PlacementProblem &problem) {
  SmallVector<Host> nodes;
  for (const Candidate &candidate : problem.devices) {
    if (nodes.empty() || nodes.back().node != candidate.node)
      nodes.push_back({candidate.node, {}});
    nodes.back().devices.push_back(candidate);
  }
  return nodes;
}

/// Every `step`-th entry from each start: 0, 2, 4, 1, 3, 5 for a step of 2.
template <typename T>
static SmallVector<T> strided(ArrayRef<T> values, size_t step) {
  SmallVector<T> result;
  for (size_t start = 0; start < step; ++start)
    for (size_t i = start; i < values.size(); i += step)
      result.push_back(values[i]);
  return result;
}

/// The groups, by stage (those of a stage together) or by number (the stages of
/// a replica together).
static SmallVector<Group> orderGroups(const PlacementProblem &problem,
                                      bool byStage) {
  SmallVector<Group> groups;
  int64_t count = groupsOfStage(problem);
  int64_t outer = byStage ? problem.pp : count,
          inner = byStage ? count : problem.pp;
  for (int64_t i = 0; i < outer; ++i)
    for (int64_t j = 0; j < inner; ++j)
      groups.push_back(byStage ? Group{i, j} : Group{j, i});
  return groups;
}

/// How many groups each of the fewest nodes takes; empty where they do not fit.
static SmallVector<int64_t> fewestNodes(ArrayRef<Host> nodes, int64_t tp,
                                        int64_t groups) {
  auto room = llvm::map_to_vector(nodes, [&](const Host &node) {
    return static_cast<int64_t>(node.devices.size()) / tp;
  });
  llvm::sort(room, std::greater<>());
  SmallVector<int64_t> counts;
  for (int64_t count : room) {
    if (groups == 0 || count == 0)
      break;
    counts.push_back(std::min(count, groups));
    groups -= counts.back();
  }
  return groups == 0 ? counts : SmallVector<int64_t>();
}

/// Consecutive groups fill node after node.
static Cut packGroups(const PlacementProblem &problem, ArrayRef<Group> groups,
                      ArrayRef<int64_t> counts, ArrayRef<Host> nodes) {
  Cut cut{{}, SmallVector<Host>(nodes)};
  for (int64_t count : counts) {
    Bundle bundle{{}, problem.dp};
    for (Group group : groups.take_front(count))
      for (int64_t slice = 0; slice < problem.tp; ++slice)
        bundle.ranks.push_back(rankOf(problem, group, slice));
    groups = groups.drop_front(count);
    cut.bundles.push_back(std::move(bundle));
  }
  return cut;
}

static void addPacked(const PlacementProblem &problem, ArrayRef<Host> nodes,
                      SmallVectorImpl<Cut> &cuts) {
  SmallVector<int64_t> counts =
      fewestNodes(nodes, problem.tp, problem.pp * groupsOfStage(problem));
  if (counts.empty())
    return;
  for (bool byStage : {true, false}) {
    SmallVector<Group> groups = orderGroups(problem, byStage);
    cuts.push_back(packGroups(problem, groups, counts, nodes));
    if (counts.size() > 1)
      cuts.push_back(packGroups(problem, strided<Group>(groups, counts.size()),
                                counts, nodes));
  }
}

SmallVector<Cut> etc::slotCuts(const PlacementProblem &problem) {
  SmallVector<Host> nodes = findNodes(problem);
  SmallVector<Cut> cuts;
  SmallVector<Group> groups = orderGroups(problem, /*byStage=*/true);
  SmallVector<int64_t> ones(groups.size(), 1);
  for (bool isStrided : {false, true}) {
    SmallVector<Host> slots;
    for (const Host &node : nodes) {
      size_t count = node.devices.size() / problem.tp;
      SmallVector<Candidate> devices = node.devices;
      if (isStrided && count > 1)
        devices = strided<Candidate>(node.devices, count);
      for (size_t slot = 0; slot < count; ++slot)
        slots.push_back({node.node, SmallVector<Candidate>(
                                        ArrayRef<Candidate>(devices).slice(
                                            slot * problem.tp, problem.tp))});
    }
    if (slots.size() >= groups.size())
      cuts.push_back(packGroups(problem, groups, ones, slots));
  }
  return cuts;
}

static int64_t largestNode(ArrayRef<Host> nodes) {
  int64_t largest = 0;
  for (const Host &node : nodes)
    largest = std::max<int64_t>(largest, node.devices.size());
  return largest;
}

/// Over how many nodes a group goes.
static int64_t partsOf(const PlacementProblem &problem) {
  return llvm::divideCeil(problem.tp, largestNode(findNodes(problem)));
}

bool etc::exceedsNode(const PlacementProblem &problem) {
  return partsOf(problem) > 1;
}

SmallVector<int64_t, 2> etc::partSizes(const PlacementProblem &problem) {
  const int64_t largest = largestNode(findNodes(problem)),
                even = llvm::divideCeil(problem.tp, partsOf(problem));
  if (largest == even)
    return {largest};
  return {largest, even};
}

std::optional<Cut> etc::spreadCut(const PlacementProblem &problem, int64_t size,
                                  ArrayRef<bool> isStrided) {
  Cut cut{{}, findNodes(problem)};
  auto neighbours = llvm::to_vector(llvm::seq<int64_t>(problem.tp));
  SmallVector<int64_t> stride =
      strided<int64_t>(neighbours, llvm::divideCeil(problem.tp, size));
  for (Group group : orderGroups(problem, /*byStage=*/true)) {
    ArrayRef<int64_t> rest = isStrided[group.stage] ? stride : neighbours;
    while (!rest.empty()) {
      ArrayRef<int64_t> part =
          rest.take_front(std::min<size_t>(size, rest.size()));
      rest = rest.drop_front(part.size());
      Bundle bundle{{}, problem.dp};
      for (int64_t slice : part)
        bundle.ranks.push_back(rankOf(problem, group, slice));
      cut.bundles.push_back(std::move(bundle));
    }
  }
  if (cut.bundles.size() > cut.hosts.size())
    return std::nullopt;
  return cut;
}

SmallVector<Cut> etc::packedCuts(const PlacementProblem &problem) {
  SmallVector<Cut> cuts;
  addPacked(problem, findNodes(problem), cuts);
  return cuts;
}

int64_t etc::countSeats(const PlacementProblem &problem) {
  int64_t seats = 0;
  for (const Host &node : findNodes(problem))
    seats += node.devices.size() / problem.tp;
  return std::min<int64_t>(seats, problem.pp * groupsOfStage(problem));
}

bool etc::keepsGroups(const PlacementProblem &problem,
                      const Placement &placement, bool pack) {
  llvm::DenseMap<int64_t, int64_t> nodeOf;
  for (const Candidate &candidate : problem.devices)
    nodeOf[candidate.device] = candidate.node;
  const size_t parts = partsOf(problem);
  SmallVector<Group> groups = orderGroups(problem, /*byStage=*/true);
  llvm::DenseSet<int64_t> used;
  for (Group group : groups) {
    llvm::SmallDenseSet<int64_t> ofGroup;
    for (int64_t slice = 0; slice < problem.tp; ++slice)
      ofGroup.insert(
          nodeOf.at(placement.deviceOf[rankOf(problem, group, slice)]));
    if (ofGroup.size() > parts)
      return false;
    used.insert_range(ofGroup);
  }
  if (!pack)
    return true;
  const size_t fewest =
      parts > 1
          ? groups.size() * parts
          : fewestNodes(findNodes(problem), problem.tp, groups.size()).size();
  return used.size() <= fewest;
}
