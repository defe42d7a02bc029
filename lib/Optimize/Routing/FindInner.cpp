// An inner device is worth its link only if it lacks more for each byte a
// second than the slowest cut: a mean is not above its largest part. Out of a
// node, all are looked at where what stays in it takes one of their links
// longer than that. Where links are fast, few are, so little is looked at.

#include "FindInner.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace etc::routing {
namespace {

using Set = std::vector<int32_t>;

/// So many devices of atoms are looked at, at most, to take inner ones off.
constexpr int64_t kMostLooks = 4'000'000;

/// An atom that a node lacks, with the devices that need it and may be inner;
/// or one that stays inside its node.
struct InnerAtom {
  int64_t bytes;
  Set holders, needers;
};

/// What crosses a node's border without inner devices, and the atoms that
/// these have to do with.
struct NodeAtoms {
  int64_t crossing = 0;
  std::vector<InnerAtom> atoms;
};

class InnerFinder {
public:
  InnerFinder(const Problem &problem, const NodeSets &nodes,
              const CutRates &cutRates, Cut best);
  Cut find();

private:
  int64_t linkOf(int32_t device) const {
    return problem.devices[device].linkRate;
  }
  bool isWorthIt(int64_t bytes, int64_t rate) const {
    return Time{bytes, rate} > best.time;
  }
  void offer(Direction direction, const Set &devices, Set inner, Time time);
  std::vector<Set> findCandidates() const;
  void offerNics(Set candidates);
  void offerOthers(int32_t node, const Set &candidates);
  void offerIn(const std::vector<Set> &candidates);
  std::vector<Set> findHolders() const;
  void offerOut(const std::vector<Set> &candidates);
  void offerHolders();
  int64_t countInner(Direction direction, const std::vector<InnerAtom> &atoms,
                     const Set &inner);
  Time timeOf(Direction direction, int32_t node, const NodeAtoms &its,
              const Set &inner);
  void takeOff(Direction direction, int32_t node, const NodeAtoms &its,
               Set inner);

  const Problem &problem;
  const NodeSets &nodes;
  const CutRates &cutRates;
  std::vector<int64_t> lacks; ///< [device]
  /// [node] to other nodes, of all its NICs; of those of all other nodes; and
  /// the slower.
  std::vector<int64_t> nicRates, otherRates, rates;
  std::vector<bool> isInner; ///< [device] while they are counted
  int64_t looks = 0;
  Cut best;
};

InnerFinder::InnerFinder(const Problem &problem, const NodeSets &nodes,
                         const CutRates &cutRates, Cut best)
    : problem(problem), nodes(nodes), cutRates(cutRates),
      lacks(problem.devices.size()), nicRates(problem.nodes()),
      otherRates(problem.nodes()), rates(problem.nodes()),
      isInner(problem.devices.size()), best(std::move(best)) {
  for (const Atom &atom : problem.atoms)
    for (int32_t device : problem.needersOf(atom))
      lacks[device] += atom.bytes;
  std::set<int32_t> nics;
  int64_t used = 0;
  for (const Set &devices : nodes.participants) {
    used += !devices.empty();
    for (int32_t device : devices)
      nics.insert(problem.devices[device].nic);
  }
  if (used > 1)
    for (int32_t nic : nics)
      nicRates[problem.nics[nic].node] += problem.nics[nic].rate;
  const int64_t all =
      std::accumulate(nicRates.begin(), nicRates.end(), int64_t(0));
  for (size_t node = 0; node < rates.size(); ++node) {
    otherRates[node] = all - nicRates[node];
    rates[node] = std::min(nicRates[node], otherRates[node]);
  }
}

void InnerFinder::offer(Direction direction, const Set &devices, Set inner,
                        Time time) {
  if (time <= best.time)
    return;
  std::sort(inner.begin(), inner.end());
  best = {direction, devices, time, std::move(inner)};
}

/// Those that lack enough, by node. One alone is no inner device.
std::vector<Set> InnerFinder::findCandidates() const {
  std::vector<Set> candidates(nodes.participants.size());
  for (size_t node = 0; node < candidates.size(); ++node)
    if (nodes.participants[node].size() > 1)
      for (int32_t device : nodes.participants[node])
        if (isWorthIt(lacks[device], linkOf(device)))
          candidates[node].push_back(device);
  return candidates;
}

/// The NICs of all other nodes may be slower than those of the devices.
void InnerFinder::offerOthers(int32_t node, const Set &candidates) {
  Set devices;
  Time time{0, otherRates[node]};
  for (int32_t device : candidates) {
    devices.insert(std::lower_bound(devices.begin(), devices.end(), device),
                   device);
    time.bytes += lacks[device];
    time.rate += linkOf(device);
    offer(Direction::In, devices, devices, time);
  }
}

/// Into those of a NIC that lack most for their links: the slowest of all cuts
/// whose devices are all inner, since those of several NICs are a mean.
void InnerFinder::offerNics(Set candidates) {
  std::stable_sort(
      candidates.begin(), candidates.end(), [&](int32_t a, int32_t b) {
        return Time{lacks[a], linkOf(a)} > Time{lacks[b], linkOf(b)};
      });
  if (!candidates.empty())
    if (const int32_t node = problem.nodeOf(candidates.front());
        otherRates[node] < nicRates[node])
      offerOthers(node, candidates);
  std::map<int32_t, std::pair<Set, Time>> byNic;
  for (int32_t device : candidates) {
    const int32_t number = problem.devices[device].nic;
    const Nic &nic = problem.nics[number];
    auto &[devices, time] = byNic[number];
    if (devices.empty())
      time = {0, std::min(nic.rate, rates[nic.node])};
    devices.insert(std::lower_bound(devices.begin(), devices.end(), device),
                   device);
    time.bytes += lacks[device];
    time.rate += linkOf(device);
    offer(Direction::In, devices, devices, time);
  }
}

/// What inner devices add to the bytes that cross the border of a node: into
/// them, what each lacks, less what enters the node in any case; out of them,
/// what stays in the node.
int64_t InnerFinder::countInner(Direction direction,
                                const std::vector<InnerAtom> &atoms,
                                const Set &inner) {
  const bool isIn = direction == Direction::In;
  const auto isMarked = [&](int32_t device) { return isInner[device]; };
  int64_t added = 0;
  looks += int64_t(inner.size());
  for (int32_t device : inner) {
    isInner[device] = true;
    added += isIn ? lacks[device] : 0;
  }
  for (const auto &[bytes, holders, needers] : atoms) {
    looks += int64_t(holders.size() + needers.size());
    if (isIn)
      added -=
          std::any_of(needers.begin(), needers.end(), isMarked) ? bytes : 0;
    else if (std::all_of(holders.begin(), holders.end(), isMarked))
      added += bytes;
  }
  for (int32_t device : inner)
    isInner[device] = false;
  return added;
}

Time InnerFinder::timeOf(Direction direction, int32_t node,
                         const NodeAtoms &its, const Set &inner) {
  Time time{its.crossing + countInner(direction, its.atoms, inner),
            rates[node]};
  for (int32_t device : inner)
    time.rate += linkOf(device);
  return time;
}

/// Offers the node with these inner devices, then without the one without which
/// the rest takes longest, and so on.
void InnerFinder::takeOff(Direction direction, int32_t node,
                          const NodeAtoms &its, Set inner) {
  for (Time time = timeOf(direction, node, its, inner); !inner.empty();) {
    offer(direction, nodes.participants[node], inner, time);
    Set slowest;
    time = {-1, 1};
    for (size_t i = 0; i < inner.size() && inner.size() > 1; ++i) {
      Set rest = inner;
      rest.erase(rest.begin() + int64_t(i));
      if (looks > kMostLooks)
        return;
      if (const Time other = timeOf(direction, node, its, rest); other > time) {
        time = other;
        slowest = std::move(rest);
      }
    }
    inner = std::move(slowest);
  }
}

void InnerFinder::offerIn(const std::vector<Set> &candidates) {
  std::vector<bool> isCandidate(problem.devices.size());
  for (const Set &devices : candidates)
    for (int32_t device : devices)
      isCandidate[device] = true;
  std::vector<NodeAtoms> byNode(candidates.size());
  for (size_t i = 0; i < problem.atoms.size(); ++i) {
    const Atom &atom = problem.atoms[i];
    std::map<int32_t, Set> lacking; // by node
    for (int32_t node : nodes.needers[i])
      if (!candidates[node].empty() &&
          !std::binary_search(nodes.holders[i].begin(), nodes.holders[i].end(),
                              node)) {
        byNode[node].crossing += atom.bytes;
        lacking[node];
      }
    if (lacking.empty())
      continue;
    for (int32_t device : problem.needersOf(atom))
      if (isCandidate[device])
        if (auto found = lacking.find(problem.nodeOf(device));
            found != lacking.end())
          found->second.push_back(device);
    for (auto &[node, needers] : lacking)
      if (!needers.empty())
        byNode[node].atoms.push_back({atom.bytes, {}, std::move(needers)});
  }
  for (size_t node = 0; node < candidates.size(); ++node)
    if (byNode[node].crossing > 0) // else offerNics has a cut as slow
      takeOff(Direction::In, int32_t(node), byNode[node], candidates[node]);
}

/// By node, those that hold what stays in it, where this is enough.
std::vector<Set> InnerFinder::findHolders() const {
  std::vector<int64_t> staying(nodes.participants.size());
  for (size_t i = 0; i < problem.atoms.size(); ++i)
    if (nodes.holders[i].size() == 1 && nodes.needers[i] == nodes.holders[i])
      staying[nodes.holders[i].front()] += problem.atoms[i].bytes;
  for (size_t node = 0; node < staying.size(); ++node) {
    const Set &devices = nodes.participants[node];
    if (std::none_of(devices.begin(), devices.end(), [&](int32_t device) {
          return isWorthIt(staying[node], linkOf(device));
        }))
      staying[node] = 0;
  }
  std::vector<std::set<int32_t>> holders(staying.size());
  for (size_t i = 0; i < problem.atoms.size(); ++i)
    if (const int32_t node = nodes.holders[i].front();
        staying[node] > 0 && nodes.holders[i].size() == 1)
      holders[node].insert(problem.holdersOf(problem.atoms[i]).begin(),
                           problem.holdersOf(problem.atoms[i]).end());
  std::vector<Set> candidates;
  candidates.reserve(holders.size());
  for (const std::set<int32_t> &set : holders)
    candidates.emplace_back(set.begin(), set.end());
  return candidates;
}

void InnerFinder::offerOut(const std::vector<Set> &candidates) {
  std::vector<NodeAtoms> byNode(candidates.size());
  for (size_t i = 0; i < problem.atoms.size(); ++i) {
    const int32_t node = nodes.holders[i].front();
    if (nodes.holders[i].size() > 1 || candidates[node].empty())
      continue;
    const Atom &atom = problem.atoms[i];
    if (nodes.needers[i] == nodes.holders[i])
      byNode[node].atoms.push_back(
          {atom.bytes, problem.holdersOf(atom), problem.needersOf(atom)});
    else
      byNode[node].crossing += atom.bytes;
  }
  for (size_t node = 0; node < candidates.size(); ++node)
    takeOff(Direction::Out, int32_t(node), byNode[node], candidates[node]);
}

/// What only some devices of a node hold leaves one of them in any case. All
/// inner, they are worth it only if they hold more than their links carry.
void InnerFinder::offerHolders() {
  std::vector<std::map<Set, int64_t>> held(nodes.participants.size());
  std::vector<int64_t> all(held.size());
  for (size_t i = 0; i < problem.atoms.size(); ++i)
    if (nodes.holders[i].size() == 1) {
      const int32_t node = nodes.holders[i].front();
      held[node][problem.holdersOf(problem.atoms[i])] += problem.atoms[i].bytes;
      all[node] += problem.atoms[i].bytes;
    }
  for (size_t node = 0; node < held.size(); ++node)
    for (const auto &[devices, bytes] : held[node]) {
      const int64_t rate = cutRates.ofInner(devices);
      if (devices.size() < 2 || rate == 0 || !isWorthIt(all[node], rate) ||
          looks > kMostLooks)
        continue;
      Time time{0, rate};
      for (const auto &[others, its] : held[node]) {
        looks += int64_t(others.size());
        if (std::includes(devices.begin(), devices.end(), others.begin(),
                          others.end()))
          time.bytes += its;
      }
      offer(Direction::Out, devices, devices, time);
    }
}

Cut InnerFinder::find() {
  for (Set &candidates : findCandidates())
    offerNics(std::move(candidates));
  offerIn(findCandidates());
  offerOut(findHolders());
  offerHolders();
  return std::move(best);
}

} // namespace

Cut findInner(const Problem &problem, const NodeSets &nodes,
              const CutRates &rates, Cut best) {
  return InnerFinder(problem, nodes, rates, std::move(best)).find();
}

} // namespace etc::routing
