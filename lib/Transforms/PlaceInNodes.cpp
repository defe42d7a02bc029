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
#include "etc/Assignment/Expand.h"
#include "etc/Assignment/Solver.h"

#include "llvm/ADT/DenseSet.h"

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
  Weight best() const { return assignment::solve(bundleProblem()).total; }

private:
  bool fits(const BundleKey &bundle, const HostKey &host) const {
    return bundle.size() <= host.second.size();
  }
  Weight valueOf(const BundleKey &bundle, const HostKey &host) const;
  Problem bundleProblem() const;
  int64_t seatBonus() const;
  void seat(const Bundle &bundle, const Host &host, Placement &placement) const;
  std::optional<SmallVector<const Host *>> chooseHosts();

  const PlacementProblem &problem;
  std::map<BundleKey, SmallVector<const Bundle *>> bundles;
  std::map<HostKey, SmallVector<const Host *>> hosts;
};
} // namespace

/// Classes of a few roles against the devices of one host: a row a role, a
/// column a previous role.
static Problem innerProblem(const PlacementProblem &problem,
                            const BundleKey &roles,
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
      if (int64_t bytes = problem.onDevice[role][prevRole])
        inner.edges.push_back({row, column, {0, bytes}});
      ++column;
    }
  }
  return inner;
}

BundlePlacer::BundlePlacer(const PlacementProblem &problem,
                           ArrayRef<Bundle> bundleList, ArrayRef<Host> hostList)
    : problem(problem) {
  for (const Bundle &bundle : bundleList)
    bundles[bundle.getRoles()].push_back(&bundle);
  for (const Host &host : hostList)
    hosts[{problem.nodeClass[host.node], host.getPrevRoles()}].push_back(&host);
}

Weight BundlePlacer::valueOf(const BundleKey &bundle,
                             const HostKey &host) const {
  int64_t onNode = 0;
  for (int64_t role : bundle)
    onNode += problem.onNode[role][host.first];
  if (onNode == 0)
    return {};
  Problem inner = innerProblem(problem, bundle, host.second);
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
  for (const auto &worth : problem.onNode)
    bytes += problem.dp * *llvm::max_element(worth);
  return bytes;
}

Problem BundlePlacer::bundleProblem() const {
  Problem result;
  int64_t bonus = seatBonus();
  for (const auto &[key, list] : hosts)
    result.capacity.push_back(list.size());
  for (const auto &[bundle, list] : bundles) {
    int32_t row = result.supply.size(), column = 0;
    result.supply.push_back(list.size());
    for (const auto &[host, unused] : hosts) {
      Weight value;
      if (fits(bundle, host))
        value = valueOf(bundle, host) + Weight{bonus, 0};
      if (value > Weight{})
        result.edges.push_back({row, column, value});
      ++column;
    }
  }
  return result;
}

/// The host of every bundle, in the order of `bundles`. Those worth nothing
/// anywhere take what is left, the largest bundle first on the tightest host.
std::optional<SmallVector<const Host *>> BundlePlacer::chooseHosts() {
  Problem classes = bundleProblem();
  assignment::Solution solution = assignment::solve(classes);
  SmallVector<SmallVector<const Host *>> members;
  for (const auto &[key, list] : hosts)
    members.push_back(list);
  SmallVector<const Host *> chosen;
  llvm::SmallDenseSet<const Host *> taken;
  for (const auto &row : assignment::expand(classes, solution.flow))
    for (const assignment::Seat &seat : row) {
      chosen.push_back(seat.matched() ? members[seat.col][seat.member]
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
  Problem inner = innerProblem(problem, roles, host.getPrevRoles());
  auto seats = assignment::expand(inner, assignment::solve(inner).flow);
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
    const assignment::Seat &seat = seats[rowOf[role]][next[role]++];
    if (!seat.matched()) {
      left.push_back(rank);
      continue;
    }
    placement.deviceOf[rank] = members[seat.col][seat.member];
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
                                   const Cut &neighbours, const Cut &strided) {
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
  return spreadCut(problem, isStrided);
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

std::optional<Placement> etc::placeInNodes(const PlacementProblem &problem,
                                           bool pack) {
  std::optional<Placement> best;
  SmallVector<Cut> cuts = packedCuts(problem);
  if (exceedsNode(problem) && cuts.size() == 2)
    if (std::optional<Cut> mixed = mixedCut(problem, cuts[0], cuts[1]))
      cuts.push_back(std::move(*mixed));
  keepBest(problem, cuts, best);
  if (!pack)
    keepBest(problem, slotCuts(problem), best);
  else if (best)
    // The nodes are chosen; on these, groups may still change places one by
    // one.
    keepBest(problem, slotCuts(restrictTo(problem, *best)), best);
  return best;
}
