// Local search over exchanges between nodes: roles that lack the same bytes
// come together, so that these bytes enter one node less.

#include "etc/Optimize/Placement/Entering.h"

#include "PlaceGroups.h"
#include "Units.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVectorExtras.h"

namespace etc::placement {

using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

/// So many exchanges are tried, at most.
constexpr int64_t kMostTrials = 300'000;

/// Links carry so many times what NICs do, or more: an exchange may move so
/// many bytes inside nodes for each one that enters them less.
constexpr int64_t kLinksOverNics = 4;
/// Devices pass bytes on where at most so much of what enters nodes without it
/// is left, and other placements are taken where at most so much is left.
constexpr int64_t kRelayPercent = 75, kExchangePercent = 90;

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
  using Contents = Units::Contents;
  bool isBetter(Change change, Change than) const;
  Change exchange(const Unit &unit, int32_t node, const Unit *other,
                  int32_t target) const;
  bool mayTake(int32_t node, const Unit &unit) const;
  bool improve(size_t number);
  void apply(Unit &unit, Unit *other, int32_t target);
  std::vector<int64_t> takeFree(int32_t node, size_t count);

  const Problem &problem;
  Units units;
  SmallVector<SmallVector<int64_t>> freeOn; ///< [node] devices
  llvm::BitVector isTouched;                ///< [node]
  int64_t trials = 0;
};

} // namespace

Exchanges::Exchanges(const Problem &problem, const Entering &entering,
                     const Solution &solution)
    : problem(problem), units(problem, entering, solution.deviceOf),
      freeOn(problem.nodeClass.size()),
      isTouched(unsigned(problem.nodeClass.size())) {
  llvm::BitVector taken(unsigned(problem.devices.size()));
  for (int64_t device : solution.deviceOf)
    taken.set(unsigned(device));
  for (auto [number, device] : llvm::enumerate(problem.devices))
    if (device.status == Status::Usable && !taken.test(unsigned(number)))
      freeOn[size_t(device.node)].push_back(int64_t(number));
}

/// What happens if a unit and another one, or free devices of the target,
/// change places.
Change Exchanges::exchange(const Unit &unit, int32_t node, const Unit *other,
                           int32_t target) const {
  const Contents *mine = &units.contentsOf(unit),
                 *its = other ? &units.contentsOf(*other) : nullptr;
  Change change;
  change.entering =
      units.enteringOf(node, mine, its) + units.enteringOf(target, its, mine);
  if (change.entering > 0)
    return change;
  const ArrayRef<int64_t> devices =
      other ? ArrayRef<int64_t>(other->devices)
            : ArrayRef<int64_t>(freeOn[size_t(target)])
                  .take_front(unit.devices.size());
  change.kept = units.keptBy(unit, devices) - units.keptBy(unit, unit.devices);
  if (other)
    change.kept +=
        units.keptBy(*other, unit.devices) - units.keptBy(*other, devices);
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
  for (int32_t content : units.contentsOf(unit))
    (units.countOf(node, content) > 0 ? less : more) +=
        units.lackingOf(node, content);
  return more == 0 || less > more;
}

/// Makes the best exchange of one unit. Whether there is one.
bool Exchanges::improve(size_t number) {
  Unit &unit = units[number];
  const int32_t node = units.nodeOf(unit);
  if (units.enteringOf(node, &units.contentsOf(unit), nullptr) == 0)
    return false;
  Change best;
  Unit *bestOther = nullptr;
  int32_t bestTarget = -1;
  for (int32_t target = 0; target < units.nodes(); ++target) {
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
    for (size_t other : units.onNode(target))
      if (units[other].kind != unit.kind)
        offer(&units[other]);
    if (freeOn[size_t(target)].size() >= unit.devices.size() &&
        (problem.policy != Policy::Pack || !units.onNode(target).empty()))
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
  const int32_t node = units.nodeOf(unit);
  units.move(units.numberOf(unit), node, target);
  isTouched.set(unsigned(node));
  isTouched.set(unsigned(target));
  if (!other) {
    SmallVector<int64_t> &free = freeOn[size_t(node)];
    free.append(unit.devices.begin(), unit.devices.end());
    llvm::sort(free);
    unit.devices = takeFree(target, unit.devices.size());
    return;
  }
  units.move(units.numberOf(*other), target, node);
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
  for (size_t number = 0; number < units.size(); ++number)
    for (auto [rank, device] :
         llvm::zip_equal(units[number].ranks, units[number].devices))
      deviceOf[size_t(rank)] = device;
  for (const Site &site : findNodes(instanceOf(problem))) {
    if (!isTouched.test(unsigned(site.node)))
      continue;
    ColocationGroup group;
    for (size_t number : units.onNode(int32_t(site.node)))
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
