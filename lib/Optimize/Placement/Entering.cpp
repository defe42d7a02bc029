// Local search over exchanges between nodes: roles that lack the same bytes
// come together, so that these bytes enter one node less.

#include "etc/Optimize/Placement/Entering.h"

#include "PlaceGroups.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"

namespace etc::placement {

using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

/// So many exchanges are tried, at most.
constexpr int64_t kMostTrials = 300'000;
/// So many counts of contents on nodes are kept, at most.
constexpr int64_t kMostCounts = 4'000'000;

/// Links carry so many times what NICs do, or more: an exchange may move so
/// many bytes inside nodes for each one that enters them less.
constexpr int64_t kLinksOverNics = 4;
/// Devices pass bytes on where at most so much of what enters nodes without it
/// is left, and other placements are taken where at most so much is left.
constexpr int64_t kRelayPercent = 75, kExchangePercent = 90;

/// Ranks that stay together, and their devices.
struct Unit {
  std::vector<int64_t> ranks, devices;
  int32_t kind = 0; ///< units of one kind have the same roles
};

/// What a change does to both quantities.
struct Change {
  int64_t entering = 0, kept = 0;
};

class Exchanges {
public:
  Exchanges(const Problem &problem, const Entering &entering,
            const Solution &solution);

  /// Whether any exchange was made.
  bool run();
  std::vector<int64_t> placement();

private:
  using Contents = std::vector<int32_t>;
  bool makeUnits(const std::vector<int64_t> &deviceOf);
  int32_t kindOf(const Unit &unit);
  void countContents();
  bool isBetter(Change change, Change than) const;
  Change exchange(const Unit &unit, int32_t node, const Unit *other,
                  int32_t target) const;
  int64_t enteringOf(int32_t node, const Contents *removed,
                     const Contents *added) const;
  int64_t keptBy(const Unit &unit, ArrayRef<int64_t> devices) const;
  bool mayTake(int32_t node, const Unit &unit) const;
  bool improve(size_t number);
  void apply(Unit &unit, Unit *other, int32_t target);
  std::vector<int64_t> takeFree(int32_t node, size_t count);
  int32_t nodeOf(const Unit &unit) const {
    return problem.devices[size_t(unit.devices.front())].node;
  }
  int32_t &countOf(int32_t node, int32_t content) {
    return counts[size_t(node) * entering.lacking.size() + size_t(content)];
  }
  int32_t countOf(int32_t node, int32_t content) const {
    return counts[size_t(node) * entering.lacking.size() + size_t(content)];
  }
  int64_t lackingOf(int32_t node, int32_t content) const {
    return entering
        .lacking[size_t(content)][size_t(problem.nodeClass[size_t(node)])];
  }

  const Problem &problem;
  const Entering &entering;
  SmallVector<Unit> units;
  std::map<std::vector<int64_t>, int32_t> kinds; ///< by roles
  std::vector<Contents> contentsOf;              ///< [kind]
  SmallVector<SmallVector<size_t>> onNode;       ///< [node] units
  SmallVector<SmallVector<int64_t>> freeOn;      ///< [node] devices
  std::vector<int32_t> counts; ///< [node][content] units that need it
  llvm::BitVector isTouched;   ///< [node]
  int64_t trials = 0;
};

} // namespace

Exchanges::Exchanges(const Problem &problem, const Entering &entering,
                     const Solution &solution)
    : problem(problem), entering(entering), onNode(problem.nodeClass.size()),
      freeOn(problem.nodeClass.size()),
      isTouched(unsigned(problem.nodeClass.size())) {
  if (int64_t(problem.nodeClass.size() * entering.lacking.size()) >
          kMostCounts ||
      !makeUnits(solution.deviceOf)) {
    units.clear();
    return;
  }
  llvm::BitVector taken(unsigned(problem.devices.size()));
  for (int64_t device : solution.deviceOf)
    taken.set(unsigned(device));
  for (auto [number, device] : llvm::enumerate(problem.devices))
    if (device.status == Status::Usable && !taken.test(unsigned(number)))
      freeOn[size_t(device.node)].push_back(int64_t(number));
  countContents();
}

/// Whether every unit is on one node.
bool Exchanges::makeUnits(const std::vector<int64_t> &deviceOf) {
  const size_t size =
      problem.policy == Policy::Any ? 1 : size_t(problem.groupSize);
  for (ArrayRef<int64_t> rest = problem.groups; !rest.empty();
       rest = rest.drop_front(size)) {
    Unit unit;
    for (int64_t rank : rest.take_front(size)) {
      unit.ranks.push_back(rank);
      unit.devices.push_back(deviceOf[size_t(rank)]);
    }
    const int32_t node = nodeOf(unit);
    for (int64_t device : unit.devices)
      if (problem.devices[size_t(device)].node != node)
        return false;
    unit.kind = kindOf(unit);
    onNode[size_t(node)].push_back(units.size());
    units.push_back(std::move(unit));
  }
  return true;
}

int32_t Exchanges::kindOf(const Unit &unit) {
  std::vector<int64_t> roles;
  for (int64_t rank : unit.ranks)
    roles.push_back(rank / problem.replicas);
  auto [it, isNew] = kinds.try_emplace(roles, int32_t(kinds.size()));
  if (isNew) {
    Contents contents;
    for (int64_t role : roles)
      contents.insert(contents.end(), entering.contentsOf[size_t(role)].begin(),
                      entering.contentsOf[size_t(role)].end());
    llvm::sort(contents);
    contents.erase(llvm::unique(contents), contents.end());
    contentsOf.push_back(std::move(contents));
  }
  return it->second;
}

void Exchanges::countContents() {
  counts.resize(problem.nodeClass.size() * entering.lacking.size());
  for (const Unit &unit : units)
    for (int32_t content : contentsOf[size_t(unit.kind)])
      ++countOf(nodeOf(unit), content);
}

/// How many bytes more enter a node that gives a unit up and takes another.
int64_t Exchanges::enteringOf(int32_t node, const Contents *removed,
                              const Contents *added) const {
  const Contents none;
  const Contents &out = removed ? *removed : none, &in = added ? *added : none;
  int64_t bytes = 0;
  auto a = out.begin(), b = in.begin();
  while (a != out.end() || b != in.end()) {
    if (a != out.end() && b != in.end() && *a == *b) {
      ++a, ++b;
    } else if (b == in.end() || (a != out.end() && *a < *b)) {
      if (countOf(node, *a) == 1)
        bytes -= lackingOf(node, *a);
      ++a;
    } else {
      if (countOf(node, *b) == 0)
        bytes += lackingOf(node, *b);
      ++b;
    }
  }
  return bytes;
}

/// What a unit keeps on some devices.
int64_t Exchanges::keptBy(const Unit &unit, ArrayRef<int64_t> devices) const {
  int64_t kept = 0;
  for (auto [rank, device] : llvm::zip_equal(unit.ranks, devices))
    if (const int32_t prevRole = problem.devices[size_t(device)].prevRole;
        prevRole >= 0)
      kept += problem.onDevice.at(rank / problem.replicas, prevRole);
  return kept;
}

/// What happens if a unit and another one, or free devices of the target,
/// change places.
Change Exchanges::exchange(const Unit &unit, int32_t node, const Unit *other,
                           int32_t target) const {
  const Contents *mine = &contentsOf[size_t(unit.kind)],
                 *its = other ? &contentsOf[size_t(other->kind)] : nullptr;
  Change change;
  change.entering = enteringOf(node, mine, its) + enteringOf(target, its, mine);
  if (change.entering > 0)
    return change;
  const ArrayRef<int64_t> devices =
      other ? ArrayRef<int64_t>(other->devices)
            : ArrayRef<int64_t>(freeOn[size_t(target)])
                  .take_front(unit.devices.size());
  change.kept = keptBy(unit, devices) - keptBy(unit, unit.devices);
  if (other)
    change.kept += keptBy(*other, unit.devices) - keptBy(*other, devices);
  return change;
}

bool Exchanges::isBetter(Change change, Change than) const {
  if (change.entering > 0 || change.kept < kLinksOverNics * change.entering)
    return false;
  return std::pair(change.entering, -change.kept) <
         std::pair(than.entering, -than.kept);
}

/// Whether most of what the unit needs is on the node, or will be.
bool Exchanges::mayTake(int32_t node, const Unit &unit) const {
  int64_t more = 0, less = 0;
  for (int32_t content : contentsOf[size_t(unit.kind)])
    (countOf(node, content) > 0 ? less : more) += lackingOf(node, content);
  return more == 0 || less > more;
}

/// Makes the best exchange of one unit. Whether there is one.
bool Exchanges::improve(size_t number) {
  Unit &unit = units[number];
  const int32_t node = nodeOf(unit);
  if (enteringOf(node, &contentsOf[size_t(unit.kind)], nullptr) == 0)
    return false;
  Change best;
  Unit *bestOther = nullptr;
  int32_t bestTarget = -1;
  for (int32_t target = 0; target < int32_t(onNode.size()); ++target) {
    if (target == node || !mayTake(target, unit))
      continue;
    const auto offer = [&](Unit *other) {
      ++trials;
      if (const Change change = exchange(unit, node, other, target);
          isBetter(change, best)) {
        best = change;
        bestOther = other;
        bestTarget = target;
      }
    };
    for (size_t other : onNode[size_t(target)])
      if (units[other].kind != unit.kind)
        offer(&units[other]);
    if (freeOn[size_t(target)].size() >= unit.devices.size() &&
        (problem.policy != Policy::Pack || !onNode[size_t(target)].empty()))
      offer(nullptr);
  }
  if (bestTarget < 0)
    return false;
  apply(unit, bestOther, bestTarget);
  return true;
}

std::vector<int64_t> Exchanges::takeFree(int32_t node, size_t count) {
  SmallVector<int64_t> &free = freeOn[size_t(node)];
  std::vector<int64_t> devices(free.begin(), free.begin() + count);
  free.erase(free.begin(), free.begin() + count);
  return devices;
}

void Exchanges::apply(Unit &unit, Unit *other, int32_t target) {
  const int32_t node = nodeOf(unit);
  const auto number = size_t(&unit - units.begin());
  for (int32_t content : contentsOf[size_t(unit.kind)]) {
    --countOf(node, content);
    ++countOf(target, content);
  }
  llvm::erase(onNode[size_t(node)], number);
  onNode[size_t(target)].push_back(number);
  isTouched.set(unsigned(node));
  isTouched.set(unsigned(target));
  if (!other) {
    SmallVector<int64_t> &free = freeOn[size_t(node)];
    free.append(unit.devices.begin(), unit.devices.end());
    llvm::sort(free);
    unit.devices = takeFree(target, unit.devices.size());
    return;
  }
  for (int32_t content : contentsOf[size_t(other->kind)]) {
    --countOf(target, content);
    ++countOf(node, content);
  }
  const auto second = size_t(other - units.begin());
  llvm::erase(onNode[size_t(target)], second);
  onNode[size_t(node)].push_back(second);
  std::swap(unit.devices, other->devices);
}

bool Exchanges::run() {
  for (bool isChanged = true; isChanged && trials < kMostTrials;) {
    isChanged = false;
    for (size_t number = 0; number < units.size() && trials < kMostTrials;
         ++number)
      isChanged |= improve(number);
  }
  return isTouched.any();
}

/// The ranks of every node whose units changed take the devices of it on which
/// they keep most.
std::vector<int64_t> Exchanges::placement() {
  std::vector<int64_t> deviceOf(size_t(problem.getRanks()), -1);
  for (const Unit &unit : units)
    for (auto [rank, device] : llvm::zip_equal(unit.ranks, unit.devices))
      deviceOf[size_t(rank)] = device;
  for (const Site &site : findNodes(instanceOf(problem))) {
    if (!isTouched.test(unsigned(site.node)))
      continue;
    ColocationGroup group;
    for (size_t number : onNode[size_t(site.node)])
      llvm::append_range(group.ranks, units[number].ranks);
    llvm::sort(group.ranks);
    placeOnSite(problem, group, site, deviceOf);
  }
  return deviceOf;
}

namespace {

/// Whether at most so much of the other is left.
bool isLess(int64_t bytes, int64_t other, int64_t percent) {
  return bytes < other && __int128(bytes) * 100 <= __int128(other) * percent;
}

/// What enters nodes if no device passes anything on.
int64_t countWithoutRelays(const Problem &problem, const Entering &entering,
                           const std::vector<int64_t> &deviceOf) {
  int64_t bytes = 0;
  for (auto [rank, device] : llvm::enumerate(deviceOf)) {
    const auto node = size_t(problem.devices[size_t(device)].node);
    for (int32_t content :
         entering.contentsOf[size_t(int64_t(rank) / problem.replicas)])
      bytes +=
          entering.lacking[size_t(content)][size_t(problem.nodeClass[node])];
  }
  return bytes;
}

/// What enters nodes where devices pass on what is worth it.
int64_t expectEntering(const Problem &problem, const Entering &entering,
                       const std::vector<int64_t> &deviceOf) {
  const int64_t once = countEntering(problem, entering, deviceOf),
                all = countWithoutRelays(problem, entering, deviceOf);
  return isLess(once, all, kRelayPercent) ? once : all;
}

} // namespace

int64_t countEntering(const Problem &problem, const Entering &entering,
                      const std::vector<int64_t> &deviceOf) {
  std::vector<llvm::BitVector> needed(
      problem.nodeClass.size(),
      llvm::BitVector(unsigned(entering.lacking.size())));
  int64_t bytes = 0;
  for (auto [rank, device] : llvm::enumerate(deviceOf)) {
    const auto node = size_t(problem.devices[size_t(device)].node);
    for (int32_t content :
         entering.contentsOf[size_t(int64_t(rank) / problem.replicas)])
      if (!needed[node].test(unsigned(content))) {
        needed[node].set(unsigned(content));
        bytes +=
            entering.lacking[size_t(content)][size_t(problem.nodeClass[node])];
      }
  }
  return bytes;
}

Solution reduceEntering(const Problem &problem, const Entering &entering,
                        Solution solution) {
  if (problem.isTotalFirst)
    return solution;
  Exchanges exchanges(problem, entering, solution);
  if (!exchanges.run())
    return solution;
  std::vector<int64_t> deviceOf = exchanges.placement();
  if (!isLess(expectEntering(problem, entering, deviceOf),
              expectEntering(problem, entering, solution.deviceOf),
              kExchangePercent))
    return solution;
  solution.deviceOf = std::move(deviceOf);
  solution.kept = countKept(problem, solution.deviceOf);
  return solution;
}

} // namespace etc::placement
