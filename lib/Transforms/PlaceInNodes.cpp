//===- PlaceInNodes.cpp - Bundles of ranks on nodes -----------------------===//
//
// Ranks are cut into bundles that must share a node; bundles are assigned to
// nodes, and the ranks of each to the devices of its node. Given the bundles
// both assignments are exact, since what a bundle is worth on a node depends on
// nothing else. Several ways to cut are tried, and the best one is taken.
//
//===----------------------------------------------------------------------===//

#include "Bundles.h"
#include "Placement.h"
#include "etc/Optimize/Assignment/Expand.h"
#include "etc/Optimize/Assignment/Solver.h"

#include "llvm/ADT/DenseSet.h"

#include <functional>
#include <map>

using namespace etc;
using assignment::Problem;
using assignment::Weight;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {
/// Nodes that are worth the same to every bundle: their class, and the previous
/// roles of their devices.
using HostKey = std::pair<int64_t, SmallVector<int64_t>>;
using BundleKey = SmallVector<int64_t>; // roles, ascending

/// Assigns one way of cutting the ranks to one way of cutting the nodes.
class BundlePlacer {
public:
  BundlePlacer(const PlacementProblem &problem, ArrayRef<Bundle> bundles,
               ArrayRef<Host> hosts);
  std::optional<Placement> place();
  /// What the best assignment of bundles to hosts keeps.
  Weight best() const { return bundleProblem().solve().solution.total; }

private:
  bool fits(const BundleKey &bundle, const HostKey &host) const {
    return bundle.size() <= host.second.size();
  }
  Weight valueOf(const BundleKey &bundle, const HostKey &host) const;
  Weight valueOfGroups(const BundleKey &bundle, const HostKey &host) const;
  GroupedProblem bundleProblem() const;
  int32_t addHosts(GroupedProblem &result) const;
  void addPairs(GroupedProblem &result) const;
  int64_t seatBonus() const;
  void seat(const Bundle &bundle, const Host &host, Placement &placement) const;
  std::optional<SmallVector<const Host *>> chooseHosts();

  const PlacementProblem &problem;
  /// What a role keeps on a device that had a previous role.
  std::function<int64_t(int64_t, int64_t)> onDevice;
  std::map<BundleKey, SmallVector<const Bundle *>> bundles;
  std::map<HostKey, SmallVector<const Host *>> hosts;
};
} // namespace

/// Classes of a few roles against the devices of one host, both by numbers (-1:
/// none): a row a role, a column a previous role.
static Problem innerProblem(llvm::function_ref<int64_t(int64_t, int64_t)> worth,
                            ArrayRef<int64_t> roles,
                            ArrayRef<int64_t> prevRoles) {
  std::map<int64_t, int64_t> supply, capacity;
  for (int64_t role : roles)
    ++supply[role];
  for (int64_t prevRole : prevRoles)
    if (prevRole >= 0)
      ++capacity[prevRole];
  Problem inner;
  for (auto [prevRole, count] : capacity)
    inner.capacity.push_back(count);
  for (auto [role, count] : supply) {
    int32_t row = inner.supply.size(), column = 0;
    inner.supply.push_back(count);
    for (auto [prevRole, unused] : capacity) {
      if (int64_t bytes = worth(role, prevRole))
        inner.edges.push_back({row, column, {0, bytes}});
      ++column;
    }
  }
  return inner;
}

BundlePlacer::BundlePlacer(const PlacementProblem &problem,
                           ArrayRef<Bundle> bundleList, ArrayRef<Host> hostList)
    : problem(problem), onDevice([&](int64_t role, int64_t prevRole) {
        return problem.onDevice.at(role, prevRole);
      }) {
  for (const Bundle &bundle : bundleList)
    bundles[bundle.getRoles()].push_back(&bundle);
  for (const Host &host : hostList)
    hosts[{problem.nodeClass[host.node], host.getPrevRoles()}].push_back(&host);
}

Weight BundlePlacer::valueOf(const BundleKey &bundle,
                             const HostKey &host) const {
  int64_t onNode = 0;
  for (int64_t role : bundle)
    onNode += problem.onNode.at(role, host.first);
  if (onNode == 0)
    return {};
  Problem inner = innerProblem(onDevice, bundle, host.second);
  return problem.worth(onNode, assignment::solve(inner).total.device);
}

/// What any bundle of the same groups is worth on any host of the same groups,
/// but for what pairs add.
Weight BundlePlacer::valueOfGroups(const BundleKey &bundle,
                                   const HostKey &host) const {
  const WorthTable &nodes = problem.onNode, &devices = problem.onDevice;
  int64_t onNode = 0;
  for (int64_t role : bundle)
    onNode += nodes.atGroups(nodes.getRowGroup(role),
                             nodes.getColumnGroup(host.first));
  if (onNode == 0)
    return {};
  Problem inner = innerProblem(
      [&](int64_t role, int64_t prevRole) {
        return devices.atGroups(devices.getRowGroup(role),
                                devices.getColumnGroup(prevRole));
      },
      bundle, host.second);
  return problem.worth(onNode, assignment::solve(inner).total.device);
}

/// Where hosts differ in size, a small bundle must not take the only host that
/// is large enough for another: then being seated at all is worth more than all
/// bytes together.
int64_t BundlePlacer::seatBonus() const {
  size_t size = hosts.begin()->first.second.size();
  bool areEqual = llvm::all_of(hosts, [&](const auto &entry) {
    return entry.first.second.size() == size;
  });
  if (areEqual)
    return 0;
  int64_t bytes = 1;
  for (int64_t role = 0; role < problem.getRoles(); ++role)
    bytes += problem.dp * problem.onNode.getMost(role);
  return bytes;
}

/// The groups of what a host's devices hold, and its size; the first host of
/// each group stands for all.
int32_t BundlePlacer::addHosts(GroupedProblem &result) const {
  std::map<std::pair<int32_t, SmallVector<int32_t>>, int32_t> groups;
  for (const auto &[host, list] : hosts) {
    std::pair<int32_t, SmallVector<int32_t>> group(
        problem.onNode.getColumnGroup(host.first), {});
    for (int64_t role : host.second)
      group.second.push_back(role < 0 ? -1
                                      : problem.onDevice.getColumnGroup(role));
    result.colGroup.push_back(
        groups.try_emplace(group, groups.size()).first->second);
    result.capacity.push_back(list.size());
  }
  return groups.size();
}

/// Where a role and a node share a range, a bundle with it is worth more there.
void BundlePlacer::addPairs(GroupedProblem &result) const {
  std::map<int64_t, SmallVector<std::pair<int32_t, const HostKey *>>> ofClass;
  int32_t row = 0, column = 0;
  for (const auto &[host, list] : hosts)
    ofClass[host.first].push_back({column++, &host});
  int64_t bonus = seatBonus();
  for (const auto &[bundle, list] : bundles) {
    for (int64_t role : bundle)
      for (auto [nodeClass, more] : problem.onNode.getPairs(role))
        for (auto [place, host] : ofClass[nodeClass])
          if (fits(bundle, *host) && !result.pairs.contains({row, place}))
            result.pairs[{row, place}] =
                valueOf(bundle, *host) + Weight{bonus, 0};
    ++row;
  }
}

GroupedProblem BundlePlacer::bundleProblem() const {
  GroupedProblem result;
  int64_t bonus = seatBonus();
  SmallVector<const HostKey *> hostOf(addHosts(result));
  for (auto [group, host] : llvm::zip_equal(result.colGroup, hosts))
    hostOf[group] = &host.first;
  std::map<SmallVector<int32_t>, int32_t> groups;
  for (const auto &[bundle, list] : bundles) {
    SmallVector<int32_t> ofRoles;
    for (int64_t role : bundle)
      ofRoles.push_back(problem.onNode.getRowGroup(role));
    auto [known, isFirst] = groups.try_emplace(ofRoles, groups.size());
    result.rowGroup.push_back(known->second);
    result.supply.push_back(list.size());
    if (!isFirst)
      continue;
    for (auto [column, host] : llvm::enumerate(hostOf))
      if (fits(bundle, *host))
        result.groups[{known->second, static_cast<int32_t>(column)}] =
            valueOfGroups(bundle, *host) + Weight{bonus, 0};
  }
  addPairs(result);
  return result;
}

/// The host of every bundle, in the order of `bundles`. Those worth nothing
/// anywhere take what is left, the largest bundle first on the tightest host.
std::optional<SmallVector<const Host *>> BundlePlacer::chooseHosts() {
  auto [classes, solution] = bundleProblem().solve();
  SmallVector<SmallVector<const Host *>> members;
  for (const auto &[key, list] : hosts)
    members.push_back(list);
  SmallVector<const Host *> chosen;
  llvm::SmallDenseSet<const Host *> taken;
  for (const auto &row : assignment::expand(classes, solution.flow))
    for (const assignment::Match &match : row) {
      chosen.push_back(match.isMade() ? members[match.col][match.member]
                                      : nullptr);
      taken.insert(chosen.back());
    }
  SmallVector<std::pair<size_t, size_t>> rest; // size, place
  size_t place = 0;
  for (const auto &[key, list] : bundles)
    for (size_t i = 0; i < list.size(); ++i, ++place)
      if (!chosen[place])
        rest.push_back({key.size(), place});
  llvm::sort(rest, [](auto a, auto b) {
    return std::pair(b.first, a.second) < std::pair(a.first, b.second);
  });
  for (auto [size, index] : rest) {
    const Host *best = nullptr;
    for (ArrayRef<const Host *> list : members)
      for (const Host *host : list)
        if (!taken.contains(host) && host->devices.size() >= size &&
            (!best ||
             std::pair(host->devices.size(), host->devices.front().device) <
                 std::pair(best->devices.size(), best->devices.front().device)))
          best = host;
    if (!best)
      return std::nullopt;
    chosen[index] = best;
    taken.insert(best);
  }
  return chosen;
}

/// The ranks of one bundle on the devices of its host.
void BundlePlacer::seat(const Bundle &bundle, const Host &host,
                        Placement &placement) const {
  BundleKey roles = bundle.getRoles();
  Problem inner = innerProblem(onDevice, roles, host.getPrevRoles());
  auto matches = assignment::expand(inner, assignment::solve(inner).flow);
  std::map<int64_t, SmallVector<int64_t>> byPrevRole;
  for (const Candidate &candidate : host.devices)
    byPrevRole[candidate.prevRole].push_back(candidate.device);
  SmallVector<SmallVector<int64_t>> members;
  for (auto &[prevRole, list] : byPrevRole)
    if (prevRole >= 0)
      members.push_back(list);
  std::map<int64_t, int64_t> rowOf, next;
  for (int64_t role : roles)
    rowOf.try_emplace(role, rowOf.size());
  llvm::SmallDenseSet<int64_t> taken;
  SmallVector<int64_t> left;
  for (int64_t rank : bundle.ranks) {
    int64_t role = rank / problem.dp;
    const assignment::Match &match = matches[rowOf[role]][next[role]++];
    if (!match.isMade()) {
      left.push_back(rank);
      continue;
    }
    placement.deviceOf[rank] = members[match.col][match.member];
    taken.insert(placement.deviceOf[rank]);
  }
  auto free = host.devices.begin();
  for (int64_t rank : left) {
    while (taken.contains(free->device))
      ++free;
    placement.deviceOf[rank] = free++->device;
  }
}

std::optional<Placement> BundlePlacer::place() {
  std::optional<SmallVector<const Host *>> chosen = chooseHosts();
  if (!chosen)
    return std::nullopt;
  Placement placement{SmallVector<int64_t>(problem.getRanks(), -1), {}};
  auto host = chosen->begin();
  for (const auto &[key, list] : bundles)
    for (const Bundle *bundle : list) {
      placement.kept += valueOf(
          key, {problem.nodeClass[(*host)->node], (*host)->getPrevRoles()});
      seat(*bundle, **host++, placement);
    }
  return placement;
}

static void keepBest(const PlacementProblem &problem, ArrayRef<Cut> cuts,
                     std::optional<Placement> &best) {
  for (const Cut &cut : cuts) {
    std::optional<Placement> placement =
        BundlePlacer(problem, cut.bundles, cut.hosts).place();
    if (placement && (!best || placement->kept > best->kept))
      best = std::move(placement);
  }
}

/// Every stage cut as is better for it alone: what the embeddings ask for on
/// one stage must not decide for all.
static std::optional<Cut> mixedCut(const PlacementProblem &problem,
                                   int64_t size, const Cut &neighbours,
                                   const Cut &strided) {
  auto worthOf = [&](const Cut &cut, int64_t stage) {
    SmallVector<Bundle> bundles;
    for (const Bundle &bundle : cut.bundles)
      if (bundle.ranks.front() / (problem.slots * problem.replicas) == stage)
        bundles.push_back(bundle);
    return BundlePlacer(problem, bundles, cut.hosts).best();
  };
  SmallVector<bool> isStrided;
  for (int64_t stage = 0; stage < problem.pp; ++stage)
    isStrided.push_back(worthOf(strided, stage) > worthOf(neighbours, stage));
  if (llvm::all_equal(isStrided))
    return std::nullopt;
  return spreadCut(problem, size, isStrided);
}

/// All ways to cut groups that exceed a node.
static SmallVector<Cut> spreadCuts(const PlacementProblem &problem) {
  SmallVector<Cut> cuts;
  for (int64_t size : partSizes(problem)) {
    auto cutAs = [&](bool isStrided) {
      return spreadCut(problem, size, SmallVector<bool>(problem.pp, isStrided));
    };
    std::optional<Cut> neighbours = cutAs(false), strided = cutAs(true);
    if (!neighbours)
      continue;
    if (auto mixed = mixedCut(problem, size, *neighbours, *strided))
      cuts.push_back(std::move(*mixed));
    cuts.push_back(std::move(*neighbours));
    cuts.push_back(std::move(*strided));
  }
  return cuts;
}

/// The problem on the nodes that a placement uses alone.
static PlacementProblem restrictTo(const PlacementProblem &problem,
                                   const Placement &placement) {
  llvm::DenseSet<int64_t> devices, nodes;
  devices.insert_range(placement.deviceOf);
  for (const Candidate &candidate : problem.devices)
    if (devices.contains(candidate.device))
      nodes.insert(candidate.node);
  PlacementProblem result = problem;
  llvm::erase_if(result.devices, [&](const Candidate &candidate) {
    return !nodes.contains(candidate.node);
  });
  return result;
}

static bool haveNodesOneSize(const PlacementProblem &problem) {
  std::map<int64_t, int64_t> sizes;
  for (const Candidate &candidate : problem.devices)
    ++sizes[candidate.node];
  return llvm::all_equal(llvm::make_second_range(sizes));
}

/// The exact optimum without constraints, where it meets them.
static void keepAnywhere(const PlacementProblem &problem, bool pack,
                         std::optional<Placement> &best) {
  Placement placement = placeAnywhere(problem);
  if ((!best || placement.kept > best->kept) &&
      keepsGroups(problem, placement, pack))
    best = std::move(placement);
}

std::optional<Placement> etc::placeInNodes(const PlacementProblem &problem,
                                           bool pack) {
  std::optional<Placement> best;
  const bool isSpread = exceedsNode(problem);
  keepBest(problem, isSpread ? spreadCuts(problem) : packedCuts(problem), best);
  if (!pack)
    keepBest(problem, slotCuts(problem), best);
  else if (best)
    // The nodes are chosen; on these, groups may still change places one by
    // one.
    keepBest(problem, slotCuts(restrictTo(problem, *best)), best);
  // Cuts are of few sizes, nodes may be of many.
  if (isSpread || !haveNodesOneSize(problem)) {
    if (best)
      keepAnywhere(restrictTo(problem, *best), pack, best);
    keepAnywhere(problem, pack, best);
  }
  return best;
}
