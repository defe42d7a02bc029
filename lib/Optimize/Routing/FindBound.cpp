// The slowest of the cuts that are looked at.

#include "CutRates.h"
#include "FindInner.h"
#include "FindParts.h"
#include "Nodes.h"
#include "etc/Optimize/Routing/Solver.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>

namespace etc::routing {
namespace {

using Set = std::vector<int32_t>;

bool isSubset(const Set &set, const Set &of) {
  return std::includes(of.begin(), of.end(), set.begin(), set.end());
}

/// So many sets are compared with each other, at most.
constexpr int64_t kMostComparisons = 4'000'000;

class BoundFinder {
public:
  explicit BoundFinder(const Problem &problem)
      : problem(problem), nodeSets{findParticipants(problem), {}, {}},
        rates(problem, nodeSets.participants) {
    for (const Atom &atom : problem.atoms) {
      nodeSets.holders.push_back(nodesOf(problem.holdersOf(atom)));
      nodeSets.needers.push_back(nodesOf(problem.needersOf(atom)));
    }
  }

  Cut findPlain();
  /// Those and what parts of nodes take, once the others are known.
  Cut findParts();
  std::vector<Cut> find();

private:
  Set nodesOf(const Set &devices) const;
  Set devicesOf(const Set &nodes) const;
  void offer(Direction direction, const Set &devices, int64_t bytes);
  void offer(const Cut &cut);
  void offerIn();
  void offerOut(const std::vector<Set> &holders,
                const std::vector<Set> &needers, bool ofNodes);
  std::vector<Set> joinSets(const std::vector<Set> &sets) const;

  const Problem &problem;
  NodeSets nodeSets;
  CutRates rates;
  Cut best;
  std::array<Cut, 2> bestOf; ///< [direction]
};

Set BoundFinder::nodesOf(const Set &devices) const {
  std::set<int32_t> nodes;
  for (int32_t device : devices)
    nodes.insert(problem.nodeOf(device));
  return {nodes.begin(), nodes.end()};
}

Set BoundFinder::devicesOf(const Set &nodes) const {
  Set devices;
  for (int32_t node : nodes)
    devices.insert(devices.end(), nodeSets.participants[node].begin(),
                   nodeSets.participants[node].end());
  std::sort(devices.begin(), devices.end());
  return devices;
}

void BoundFinder::offer(Direction direction, const Set &devices,
                        int64_t bytes) {
  // Nothing crosses the border of all.
  const int64_t rate = bytes > 0 ? rates.of(devices) : 0;
  if (rate == 0)
    return;
  offer({direction, devices, {bytes, rate}});
}

void BoundFinder::offer(const Cut &cut) {
  for (Cut *known : {&best, &bestOf[size_t(cut.direction)]})
    if (cut.time > known->time)
      *known = cut;
}

void BoundFinder::offerIn() {
  std::vector<int64_t> ofDevice(problem.devices.size()),
      ofNode(problem.nodes());
  for (size_t i = 0; i < problem.atoms.size(); ++i) {
    for (int32_t device : problem.needersOf(problem.atoms[i]))
      ofDevice[device] += problem.atoms[i].bytes;
    for (int32_t node : nodeSets.needers[i])
      if (!std::binary_search(nodeSets.holders[i].begin(),
                              nodeSets.holders[i].end(), node))
        ofNode[node] += problem.atoms[i].bytes;
  }
  for (size_t node = 0; node < ofNode.size(); ++node)
    offer(Direction::In, nodeSets.participants[node], ofNode[node]);
  for (size_t device = 0; device < ofDevice.size(); ++device)
    offer(Direction::In, {int32_t(device)}, ofDevice[device]);
}

/// Sets that have an element in common become one.
std::vector<Set> BoundFinder::joinSets(const std::vector<Set> &sets) const {
  std::vector<int32_t> parent(problem.devices.size() + problem.nodes());
  std::iota(parent.begin(), parent.end(), 0);
  auto find = [&](int32_t element) {
    while (parent[element] != element)
      element = parent[element] = parent[parent[element]];
    return element;
  };
  std::set<int32_t> elements;
  for (const Set &set : sets)
    for (int32_t element : set) {
      elements.insert(element);
      parent[find(element)] = find(set.front());
    }
  std::map<int32_t, Set> joined;
  for (int32_t element : elements)
    joined[find(element)].push_back(element);
  std::vector<Set> list;
  list.reserve(joined.size());
  for (auto &[root, set] : joined)
    list.push_back(std::move(set));
  return list;
}

/// Out of every set of holders, and out of those that such sets join. What
/// leaves a node for another one without holders counts even within the set.
void BoundFinder::offerOut(const std::vector<Set> &holders,
                           const std::vector<Set> &needers, bool ofNodes) {
  std::map<Set, std::vector<size_t>> atoms;
  for (size_t i = 0; i < holders.size(); ++i)
    atoms[holders[i]].push_back(i);
  std::map<int32_t, std::vector<decltype(atoms)::const_iterator>> byFirst;
  for (auto it = atoms.begin(); it != atoms.end(); ++it)
    byFirst[it->first.front()].push_back(it);
  std::set<Set> candidates;
  for (const auto &[set, list] : atoms) {
    candidates.insert(set);
    for (int32_t element : set)
      candidates.insert({element});
  }
  for (Set &set : joinSets(holders))
    candidates.insert(std::move(set));
  int64_t comparisons = 0;
  for (const Set &candidate : candidates) {
    if (comparisons > kMostComparisons)
      return;
    int64_t bytes = 0;
    for (int32_t first : candidate) {
      auto found = byFirst.find(first);
      if (found == byFirst.end())
        continue;
      for (auto it : found->second) {
        comparisons += int64_t(it->first.size());
        if (!isSubset(it->first, candidate))
          continue;
        for (size_t i : it->second)
          if (!isSubset(needers[i], candidate) ||
              !isSubset(nodeSets.needers[i], nodeSets.holders[i]))
            bytes += problem.atoms[i].bytes;
      }
    }
    offer(Direction::Out, ofNodes ? devicesOf(candidate) : candidate, bytes);
  }
}

Cut BoundFinder::findPlain() {
  offerIn();
  offerOut(nodeSets.holders, nodeSets.needers, /*ofNodes=*/true);
  std::vector<Set> holders, needers;
  for (const Atom &atom : problem.atoms) {
    holders.push_back(problem.holdersOf(atom));
    needers.push_back(problem.needersOf(atom));
  }
  offerOut(holders, needers, /*ofNodes=*/false);
  return best;
}

Cut BoundFinder::findParts() {
  for (const Cut &cut : routing::findParts(problem, nodeSets, rates, best))
    offer(cut);
  return best;
}

std::vector<Cut> BoundFinder::find() {
  findPlain();
  findParts();
  if (best.devices.empty())
    return {};
  std::vector<Cut> cuts = {best};
  Cut &other = bestOf[best.direction == Direction::In ? 1 : 0];
  if (!other.devices.empty())
    cuts.push_back(std::move(other));
  if (Cut inner = findInner(problem, nodeSets, rates, best);
      !inner.inner.empty())
    cuts.push_back(std::move(inner));
  return cuts;
}

} // namespace

std::vector<Cut> findBounds(const Problem &problem) {
  return BoundFinder(problem).find();
}

std::vector<Time> findTargets(const Problem &problem) {
  BoundFinder finder(problem);
  const Time plain = finder.findPlain().time, all = finder.findParts().time;
  return all > plain ? std::vector{plain, all} : std::vector{plain};
}

Cut findSlowest(const std::vector<Cut> &cuts) {
  auto it = std::max_element(
      cuts.begin(), cuts.end(),
      [](const Cut &a, const Cut &b) { return a.time < b.time; });
  return it == cuts.end() ? Cut{} : *it;
}

Cut findBound(const Problem &problem) {
  return findSlowest(findBounds(problem));
}

} // namespace etc::routing
