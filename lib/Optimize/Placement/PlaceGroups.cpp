// The best placement for one way to cut ranks and nodes: colocation groups to
// sites, then the ranks of each to the devices of its site. What a group gains
// on a site depends on nothing else, so both assignments are exact.

#include "PlaceGroups.h"

#include "SiteProblem.h"
#include "etc/Optimize/Assignment/Expand.h"
#include "etc/Optimize/Assignment/Solver.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallSet.h"

namespace etc::placement {

using assignment::Match;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

using ChosenSites = SmallVector<const Site *>;

/// The tightest site for a group of some size; of equal ones that with the
/// lowest device.
const Site *findTightest(const SiteProblem &posed, size_t size,
                         const llvm::SmallPtrSetImpl<const Site *> &taken) {
  const Site *best = nullptr;
  const auto key = [](const Site &site) {
    return std::pair(site.devices.size(), site.devices.front().device);
  };
  for (const auto &[equal, list] : posed.getSites())
    for (const Site *site : list)
      if (!taken.contains(site) && site->devices.size() >= size &&
          (!best || key(*site) < key(*best)))
        best = site;
  return best;
}

/// The site of every group, in the order of the rows; none for those that gain
/// nothing anywhere.
ChosenSites chooseBest(const SiteProblem &posed) {
  auto [classes, solution] = posed.pose().solve();
  SmallVector<ArrayRef<const Site *>> members;
  for (const auto &[key, list] : posed.getSites())
    members.push_back(list);
  ChosenSites chosen;
  for (const auto &row : assignment::expand(classes, solution.flow))
    for (const Match &match : row)
      chosen.push_back(match.isMade()
                           ? members[size_t(match.col)][size_t(match.member)]
                           : nullptr);
  return chosen;
}

/// Groups without a site take what is left, the largest first on the tightest.
/// Whether all find one.
bool chooseRest(const SiteProblem &posed, ChosenSites &chosen) {
  llvm::SmallPtrSet<const Site *, 16> taken;
  for (const Site *site : chosen)
    if (site)
      taken.insert(site);
  SmallVector<std::pair<size_t, size_t>> rest; // size, number
  size_t number = 0;
  for (const auto &[key, list] : posed.getGroups())
    for (size_t i = 0; i < list.size(); ++i, ++number)
      if (!chosen[number])
        rest.push_back({key.size(), number});
  llvm::sort(rest, [](auto a, auto b) {
    return std::pair(b.first, a.second) < std::pair(a.first, b.second);
  });
  for (auto [size, number] : rest) {
    const Site *best = findTightest(posed, size, taken);
    if (!best)
      return false;
    chosen[number] = best;
    taken.insert(best);
  }
  return true;
}

/// The matches of ranks with the devices of one site.
class SitePlacer {
public:
  SitePlacer(const Problem &problem, const ColocationGroup &group,
             const Site &site)
      : group(group), site(site), replicas(problem.replicas) {
    const GroupKey roles = group.getRoles(problem);
    const assignment::Problem posed = poseSite(
        [&](int64_t role, int64_t prevRole) {
          return problem.onDevice.at(role, prevRole);
        },
        roles, site.getPrevRoles());
    matches = assignment::expand(posed, assignment::solve(posed).flow);
    for (int64_t role : roles)
      rowOf.try_emplace(role, rowOf.size());
    std::map<int64_t, SmallVector<int64_t>> byPrevRole;
    for (const Candidate &candidate : site.devices)
      if (candidate.prevRole >= 0)
        byPrevRole[candidate.prevRole].push_back(candidate.device);
    for (auto &[prevRole, list] : byPrevRole)
      members.push_back(std::move(list));
  }

  /// Ranks that keep nothing take the lowest devices that are left.
  void place(std::vector<int64_t> &deviceOf) {
    llvm::SmallSet<int64_t, 8> taken;
    SmallVector<int64_t> left;
    for (int64_t rank : group.ranks) {
      const Match match = nextMatch(rank / replicas);
      if (!match.isMade()) {
        left.push_back(rank);
        continue;
      }
      const int64_t device = members[size_t(match.col)][size_t(match.member)];
      deviceOf[size_t(rank)] = device;
      taken.insert(device);
    }
    const auto *free = site.devices.begin();
    for (int64_t rank : left) {
      while (taken.contains(free->device))
        ++free;
      deviceOf[size_t(rank)] = free++->device;
    }
  }

private:
  Match nextMatch(int64_t role) { return matches[rowOf[role]][next[role]++]; }

  const ColocationGroup &group;
  const Site &site;
  const int64_t replicas;
  std::vector<std::vector<Match>> matches;   ///< [row][rank of the role]
  std::map<int64_t, size_t> rowOf, next;     ///< by role
  SmallVector<SmallVector<int64_t>> members; ///< [column] devices
};

} // namespace

void placeOnSite(const Problem &problem, const ColocationGroup &group,
                 const Site &site, std::vector<int64_t> &deviceOf) {
  SitePlacer(problem, group, site).place(deviceOf);
}

std::optional<Solution> placeGroups(const Problem &problem,
                                    const Partition &partition) {
  const SiteProblem posed(problem, partition.groups, partition.sites);
  ChosenSites chosen = chooseBest(posed);
  if (!chooseRest(posed, chosen))
    return std::nullopt;
  Solution solution{std::vector<int64_t>(size_t(problem.getRanks()), -1), {}};
  const Site *const *site = chosen.begin();
  for (const auto &[key, list] : posed.getGroups())
    for (const ColocationGroup *group : list)
      placeOnSite(problem, *group, **site++, solution.deviceOf);
  solution.kept = countKept(problem, solution.deviceOf);
  return solution;
}

assignment::Weight mostKept(const Problem &problem,
                            ArrayRef<ColocationGroup> groups,
                            ArrayRef<Site> sites) {
  return SiteProblem(problem, groups, sites).pose().solve().solution.total;
}

} // namespace etc::placement
