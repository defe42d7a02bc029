// Local search over the NICs that roles reach.

#include "etc/Optimize/Placement/Nics.h"

#include "Instance.h"
#include "NodeCuts.h"
#include "Units.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallSet.h"

#include <tuple>

namespace etc::placement {

using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

/// So many contents and nodes are looked at, at most.
constexpr int64_t kMostSteps = 20'000'000;

/// The NICs of devices, numbered through all nodes.
class NicTable {
public:
  NicTable(const Problem &problem, const Rates &rates)
      : nicOf(problem.devices.size()) {
    const std::vector<Device> &devices = problem.devices;
    for (size_t first = 0; first < devices.size();) {
      size_t end = first;
      while (end < devices.size() && devices[end].node == devices[first].node)
        ++end;
      const int64_t size = int64_t(end - first),
                    nics = std::min(rates.nics, size);
      for (size_t device = first; device < end; ++device)
        nicOf[device] = count + int64_t(device - first) * nics / size;
      count += nics;
      first = end;
    }
  }
  int64_t size() const { return count; }
  int64_t operator[](int64_t device) const { return nicOf[size_t(device)]; }

private:
  std::vector<int64_t> nicOf; ///< [device]
  int64_t count = 0;
};

/// The NICs of devices that hold state or have a rank.
llvm::BitVector findReached(const Problem &problem, const NicTable &nics,
                            const std::vector<int64_t> &deviceOf) {
  llvm::BitVector reached(unsigned(nics.size()));
  for (auto [number, device] : llvm::enumerate(problem.devices))
    if (device.prevRole >= 0)
      reached.set(unsigned(nics[int64_t(number)]));
  for (int64_t device : deviceOf)
    if (device >= 0)
      reached.set(unsigned(nics[device]));
  return reached;
}

/// How many NICs of each node are in a set.
SmallVector<int64_t> countNics(const Problem &problem, const NicTable &nics,
                               llvm::BitVector set) {
  SmallVector<int64_t> counts(problem.nodeClass.size());
  for (auto [number, device] : llvm::enumerate(problem.devices)) {
    const auto nic = unsigned(nics[int64_t(number)]);
    counts[size_t(device.node)] += set.test(nic);
    set.reset(nic);
  }
  return counts;
}

llvm::BitVector findUsedNodes(const Problem &problem,
                              const std::vector<int64_t> &deviceOf) {
  llvm::BitVector used(unsigned(problem.nodeClass.size()));
  for (int64_t device : deviceOf)
    used.set(unsigned(problem.devices[size_t(device)].node));
  return used;
}

/// What a role keeps on a device.
int64_t keptOn(const Problem &problem, int64_t rank, int64_t device) {
  const int32_t prevRole = problem.devices[size_t(device)].prevRole;
  return prevRole < 0 ? 0
                      : problem.onDevice.at(rank / problem.replicas, prevRole);
}

/// Loose ranks keep nothing where they are, and may move; a unit may if all of
/// its ranks may. While units move, a node is taken to reach the NICs that its
/// loose ranks can.
class NicSearch {
public:
  NicSearch(const Problem &problem, const Entering &entering,
            const NicTable &nics, const std::vector<int64_t> &deviceOf);

  void moveUnits();
  std::vector<int64_t> placement() const;

private:
  bool isLoose(int64_t rank) const {
    return keptOn(problem, rank, deviceOf[size_t(rank)]) == 0;
  }
  bool improve();
  void move(size_t unit, int32_t from, int32_t to);
  bool canMove(size_t unit, int32_t to) const;
  void findNics(int32_t node) {
    const auto number = size_t(node);
    reached[number] = held[number] + std::min(loose[number], open[number]);
  }
  void chooseDevices(int32_t node, ArrayRef<int64_t> ranks,
                     std::vector<int64_t> &placed) const;

  const Problem &problem;
  const NicTable &nics;
  const std::vector<int64_t> deviceOf; ///< [rank] as it was
  Units units;
  NodeCuts cuts;
  SmallVector<int32_t> nodeOf;      ///< [unit]
  SmallVector<bool> mayMove;        ///< [unit]
  SmallVector<int64_t> firstDevice; ///< [node], and the end
  SmallVector<int64_t> idle;        ///< [node] devices without a rank
  SmallVector<int64_t> loose;       ///< [node] ranks
  SmallVector<int64_t> held, open;  ///< [node] NICs of holders, and others
  SmallVector<int64_t> reached;     ///< [node] NICs
  llvm::BitVector isTouched;        ///< [node]
  int64_t steps = 0;
};

} // namespace

NicSearch::NicSearch(const Problem &problem, const Entering &entering,
                     const NicTable &nics, const std::vector<int64_t> &deviceOf)
    : problem(problem), nics(nics), deviceOf(deviceOf),
      units(problem, entering, deviceOf), cuts(problem, entering),
      idle(problem.nodeClass.size()), loose(problem.nodeClass.size()),
      held(problem.nodeClass.size()), open(problem.nodeClass.size()),
      reached(problem.nodeClass.size()),
      isTouched(unsigned(problem.nodeClass.size())) {
  llvm::BitVector usable = findReached(problem, nics, {}), holders = usable;
  firstDevice.assign(problem.nodeClass.size() + 1,
                     int64_t(problem.devices.size()));
  for (auto [number, device] : llvm::enumerate(problem.devices)) {
    int64_t &first = firstDevice[size_t(device.node)];
    first = std::min(first, int64_t(number));
    if (device.status != Status::Usable)
      continue;
    ++idle[size_t(device.node)];
    usable.set(unsigned(nics[int64_t(number)]));
  }
  held = countNics(problem, nics, holders);
  open = countNics(problem, nics, usable);
  for (auto [all, ofHolders] : llvm::zip_equal(open, held))
    all -= ofHolders;
  for (auto [rank, device] : llvm::enumerate(deviceOf)) {
    const auto node = size_t(problem.devices[size_t(device)].node);
    --idle[node];
    loose[node] += isLoose(int64_t(rank));
  }
  for (int32_t node = 0; node < int32_t(reached.size()); ++node)
    findNics(node);
  for (size_t number = 0; number < units.size(); ++number) {
    nodeOf.push_back(units.nodeOf(units[number]));
    mayMove.push_back(llvm::all_of(
        units[number].ranks, [&](int64_t rank) { return isLoose(rank); }));
  }
  for (int32_t node = 0; node < units.nodes(); ++node)
    for (int32_t content = 0; content < int32_t(entering.lacking.size());
         ++content)
      if (units.areWhole() && units.countOf(node, content) > 0)
        cuts.begin(node, content);
}

bool NicSearch::canMove(size_t number, int32_t to) const {
  const Unit &unit = units[number];
  const int32_t from = nodeOf[number];
  if (to == from || units.onNode(to).empty() ||
      idle[size_t(to)] < int64_t(unit.ranks.size()))
    return false;
  const Units::Contents &contents = units.contentsOf(unit);
  return units.enteringOf(from, &contents, nullptr) +
             units.enteringOf(to, nullptr, &contents) <=
         0;
}

void NicSearch::move(size_t number, int32_t from, int32_t to) {
  const Unit &unit = units[number];
  units.move(number, from, to);
  for (int32_t content : units.contentsOf(unit)) {
    if (units.countOf(from, content) == 0)
      cuts.end(from, content);
    if (units.countOf(to, content) == 1)
      cuts.begin(to, content);
  }
  const auto size = int64_t(unit.ranks.size());
  nodeOf[number] = to;
  idle[size_t(from)] += size;
  idle[size_t(to)] -= size;
  loose[size_t(from)] -= size;
  loose[size_t(to)] += size;
  findNics(from);
  findNics(to);
}

/// Makes the best move to or from the nodes of the slowest cut. Whether there
/// is one.
bool NicSearch::improve() {
  const SmallVector<int32_t> slowest = cuts.findNodes(reached);
  auto best = cuts.measure(reached);
  size_t bestUnit = 0;
  int32_t bestTarget = -1;
  llvm::SmallSet<std::pair<int32_t, int32_t>, 16> tried; // kind, node
  const auto offer = [&](size_t number, int32_t to) {
    const int32_t from = nodeOf[number];
    steps += int64_t(reached.size() + units.contentsOf(units[number]).size());
    if (steps > kMostSteps || !canMove(number, to))
      return;
    move(number, from, to);
    if (const auto measure = cuts.measure(reached); measure < best) {
      best = measure;
      bestUnit = number;
      bestTarget = to;
    }
    move(number, to, from);
  };
  // Of units alike, the last: the others stay in their order.
  for (size_t number = units.size(); number-- > 0;) {
    const int32_t from = nodeOf[number];
    if (!mayMove[number] || !tried.insert({units[number].kind, from}).second)
      continue;
    if (llvm::is_contained(slowest, from))
      for (int32_t to = 0; to < units.nodes(); ++to)
        offer(number, to);
    else
      for (int32_t to : slowest)
        offer(number, to);
  }
  if (bestTarget < 0)
    return false;
  isTouched.set(unsigned(nodeOf[bestUnit]));
  isTouched.set(unsigned(bestTarget));
  move(bestUnit, nodeOf[bestUnit], bestTarget);
  return true;
}

void NicSearch::moveUnits() {
  while (units.areWhole() && steps < kMostSteps && improve())
    ;
}

/// Each rank takes a device whose NIC has the fewest ranks, then the fewest
/// holders.
void NicSearch::chooseDevices(int32_t node, ArrayRef<int64_t> ranks,
                              std::vector<int64_t> &placed) const {
  std::map<int64_t, std::pair<int64_t, int64_t>> load; // of NICs
  llvm::SmallSet<int64_t, 16> taken;
  for (auto [rank, device] : llvm::enumerate(placed))
    if (device >= 0 && problem.devices[size_t(device)].node == node) {
      ++load[nics[device]].first;
      taken.insert(device);
    }
  const int64_t first = firstDevice[size_t(node)],
                end = firstDevice[size_t(node) + 1];
  for (int64_t device = first; device < end; ++device)
    load[nics[device]].second += problem.devices[size_t(device)].prevRole >= 0;
  for (int64_t rank : ranks) {
    int64_t best = -1;
    for (int64_t device = first; device < end; ++device)
      if (problem.devices[size_t(device)].status == Status::Usable &&
          !taken.contains(device) &&
          (best < 0 || load[nics[device]] < load[nics[best]]))
        best = device;
    placed[size_t(rank)] = best;
    ++load[nics[best]].first;
    taken.insert(best);
  }
}

/// Where no unit came or went, devices change only for NICs.
std::vector<int64_t> NicSearch::placement() const {
  const SmallVector<int64_t> before =
      countNics(problem, nics, findReached(problem, nics, deviceOf));
  std::vector<int64_t> placed = deviceOf;
  SmallVector<SmallVector<int64_t>> ranksOn(problem.nodeClass.size());
  SmallVector<int32_t> nodeOfRank(deviceOf.size());
  for (auto [rank, device] : llvm::enumerate(deviceOf))
    nodeOfRank[rank] = problem.devices[size_t(device)].node;
  for (size_t number = 0; number < units.size(); ++number)
    for (int64_t rank : units[number].ranks)
      nodeOfRank[size_t(rank)] = nodeOf[number];
  for (int64_t rank : problem.groups) {
    const auto node = size_t(nodeOfRank[size_t(rank)]);
    if (!isLoose(rank) ||
        (!isTouched.test(unsigned(node)) && before[node] >= reached[node]))
      continue;
    ranksOn[node].push_back(rank);
    placed[size_t(rank)] = -1;
  }
  for (auto [node, ranks] : llvm::enumerate(ranksOn))
    if (!ranks.empty())
      chooseDevices(int32_t(node), ranks, placed);
  return placed;
}

int64_t countSlowest(const Problem &problem, const Entering &entering,
                     const Rates &rates, const std::vector<int64_t> &deviceOf) {
  const NicTable nics(problem, rates);
  NodeCuts cuts(problem, entering);
  std::vector<llvm::BitVector> needed(
      problem.nodeClass.size(),
      llvm::BitVector(unsigned(entering.lacking.size())));
  int64_t mostLacking = 0;
  for (auto [rank, device] : llvm::enumerate(deviceOf)) {
    const int32_t node = problem.devices[size_t(device)].node;
    int64_t lacking = -keptOn(problem, int64_t(rank), device);
    for (int32_t content :
         entering.contentsOf[size_t(int64_t(rank) / problem.replicas)]) {
      lacking += entering.bytes[size_t(content)];
      if (needed[size_t(node)].test(unsigned(content)))
        continue;
      needed[size_t(node)].set(unsigned(content));
      cuts.begin(node, content);
    }
    mostLacking = std::max(mostLacking, lacking);
  }
  const auto ofDevice = int64_t(__int128(mostLacking) * rates.nicRate /
                                (rates.nicRate + rates.linkRate));
  return std::max(ofDevice,
                  cuts.findSlowest(countNics(
                      problem, nics, findReached(problem, nics, deviceOf))));
}

/// Whether one is shorter by a tenth and by a millisecond.
static bool isWorth(int64_t after, int64_t before, const Rates &rates) {
  return __int128(after) * 10 <= __int128(before) * 9 &&
         __int128(before - after) * 1000 >= rates.nicRate;
}

std::optional<Solution> reachMoreNics(const Problem &problem,
                                      const Entering &entering,
                                      const Rates &rates,
                                      const Solution &solution) {
  const NicTable nics(problem, rates);
  NicSearch search(problem, entering, nics, solution.deviceOf);
  search.moveUnits();
  Solution other{search.placement(), {}};
  if (!isWorth(countSlowest(problem, entering, rates, other.deviceOf),
               countSlowest(problem, entering, rates, solution.deviceOf),
               rates))
    return std::nullopt;
  other.kept = countKept(problem, other.deviceOf);
  return other;
}

bool mayReachMoreNics(const Problem &problem, const Rates &rates,
                      const Solution &solution) {
  if (problem.isTotalFirst || problem.nodeClass.size() < 2)
    return false;
  const NicTable nics(problem, rates);
  const llvm::BitVector used = findUsedNodes(problem, solution.deviceOf),
                        reached = findReached(problem, nics, solution.deviceOf);
  for (auto [number, device] : llvm::enumerate(problem.devices))
    if (device.status == Status::Usable && used.test(unsigned(device.node)) &&
        !reached.test(unsigned(nics[int64_t(number)])))
      return true;
  return false;
}

} // namespace etc::placement
