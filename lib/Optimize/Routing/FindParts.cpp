// Such a cut has a link at least, at one end or the other, so a node is looked
// at only if one of its links would take longer for all bytes that can count.

#include "FindParts.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace etc::routing {
namespace {

using Set = std::vector<int32_t>;

/// So many devices of atoms are looked at, at most.
constexpr int64_t kMostLooks = 4'000'000;

/// What a node has to do with an atom.
struct PartAtom {
  int64_t bytes;
  Set holders, needers; ///< on the node
  bool isHeldHere;      ///< and nowhere else
  bool isNeededElsewhere;
};

class PartFinder {
public:
  PartFinder(const Problem &problem, const NodeSets &nodes,
             const CutRates &rates, Time best)
      : problem(problem), nodes(nodes), rates(rates), best(best) {}

  std::vector<Cut> find();

private:
  std::vector<bool> findNodes() const;
  void findIn(Direction direction, const Set &all,
              const std::vector<PartAtom> &atoms);
  int64_t countBytes(Direction direction, const Set &devices,
                     const std::vector<PartAtom> &atoms);

  const Problem &problem;
  const NodeSets &nodes;
  const CutRates &rates;
  Time best;
  int64_t looks = 0;
  std::vector<Cut> cuts;
};

/// Those where a link would take long enough.
std::vector<bool> PartFinder::findNodes() const {
  std::vector<int64_t> needed(nodes.participants.size()), held(needed.size());
  for (size_t i = 0; i < problem.atoms.size(); ++i) {
    for (int32_t node : nodes.needers[i])
      needed[node] += problem.atoms[i].bytes;
    if (nodes.holders[i].size() == 1)
      held[nodes.holders[i].front()] += problem.atoms[i].bytes;
  }
  std::vector<bool> found(needed.size());
  for (size_t node = 0; node < found.size(); ++node)
    for (int32_t device : nodes.participants[node])
      if (nodes.participants[node].size() > 2 &&
          Time{std::max(needed[node], held[node]),
               problem.devices[device].linkRate} > best)
        found[node] = true;
  return found;
}

int64_t PartFinder::countBytes(Direction direction, const Set &devices,
                               const std::vector<PartAtom> &atoms) {
  const auto isInside = [&](int32_t device) {
    return std::binary_search(devices.begin(), devices.end(), device);
  };
  int64_t bytes = 0;
  for (const auto &[its, holders, needers, isHeldHere, isNeededElsewhere] :
       atoms) {
    looks += int64_t(holders.size() + needers.size());
    const bool crosses =
        direction == Direction::In
            ? std::any_of(needers.begin(), needers.end(), isInside) &&
                  std::none_of(holders.begin(), holders.end(), isInside)
            : isHeldHere &&
                  std::all_of(holders.begin(), holders.end(), isInside) &&
                  (isNeededElsewhere ||
                   !std::all_of(needers.begin(), needers.end(), isInside));
    bytes += crosses ? its : 0;
  }
  return bytes;
}

/// The rate alone may rule a cut out, if all bytes were to cross.
void PartFinder::findIn(Direction direction, const Set &all,
                        const std::vector<PartAtom> &atoms) {
  std::set<Set> parts;
  int64_t most = 0;
  for (const PartAtom &atom : atoms) {
    const bool isIn = direction == Direction::In;
    parts.insert(isIn ? atom.holders : atom.needers);
    most += isIn ? !atom.needers.empty() * atom.bytes
                 : atom.isHeldHere * atom.bytes;
  }
  for (const Set &part : parts) {
    Set rest;
    std::set_difference(all.begin(), all.end(), part.begin(), part.end(),
                        std::back_inserter(rest));
    if (part.empty() || rest.empty() || looks > kMostLooks)
      continue;
    const int64_t rate = rates.of(rest);
    if (Time{most, rate} <= best)
      continue;
    if (const Time time{countBytes(direction, rest, atoms), rate};
        time > best) {
      best = time;
      cuts.push_back({direction, std::move(rest), time});
    }
  }
}

std::vector<Cut> PartFinder::find() {
  const std::vector<bool> isLookedAt = findNodes();
  std::vector<std::vector<PartAtom>> atoms(isLookedAt.size());
  for (size_t i = 0; i < problem.atoms.size(); ++i) {
    const Atom &atom = problem.atoms[i];
    std::set<int32_t> its;
    for (const auto *list : {&nodes.holders[i], &nodes.needers[i]})
      for (int32_t node : *list)
        if (isLookedAt[node])
          its.insert(node);
    for (int32_t node : its) {
      const auto onNode = [&](const Set &devices) {
        Set found;
        for (int32_t device : devices)
          if (problem.nodeOf(device) == node)
            found.push_back(device);
        return found;
      };
      looks += int64_t(problem.holdersOf(atom).size() +
                       problem.needersOf(atom).size());
      if (looks > kMostLooks)
        return {};
      atoms[node].push_back({atom.bytes, onNode(problem.holdersOf(atom)),
                             onNode(problem.needersOf(atom)),
                             nodes.holders[i] == Set{node},
                             nodes.needers[i] != Set{node}});
    }
  }
  for (size_t node = 0; node < atoms.size(); ++node)
    for (Direction direction : {Direction::In, Direction::Out})
      findIn(direction, nodes.participants[node], atoms[node]);
  return std::move(cuts);
}

} // namespace

std::vector<Cut> findParts(const Problem &problem, const NodeSets &nodes,
                           const CutRates &rates, const Cut &best) {
  return PartFinder(problem, nodes, rates, best.time).find();
}

} // namespace etc::routing
