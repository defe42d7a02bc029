// Colocation groups on sites, as an assignment.

#include "SiteProblem.h"

#include "etc/Optimize/Assignment/Solver.h"

#include "llvm/ADT/STLExtras.h"

namespace etc::placement {

using assignment::GroupedProblem;
using assignment::Weight;
using llvm::ArrayRef;
using llvm::SmallVector;

assignment::Problem
poseSite(llvm::function_ref<int64_t(int64_t, int64_t)> benefitOf,
         ArrayRef<int64_t> roles, ArrayRef<int64_t> prevRoles) {
  std::map<int64_t, int64_t> supply, capacity;
  for (int64_t role : roles)
    ++supply[role];
  for (int64_t prevRole : prevRoles)
    if (prevRole >= 0)
      ++capacity[prevRole];
  assignment::Problem posed;
  for (auto [prevRole, count] : capacity)
    posed.capacity.push_back(count);
  for (auto [role, count] : supply) {
    const auto row = int32_t(posed.supply.size());
    int32_t column = 0;
    posed.supply.push_back(count);
    for (auto [prevRole, unused] : capacity) {
      if (int64_t bytes = benefitOf(role, prevRole))
        posed.edges.push_back({row, column, {0, bytes}});
      ++column;
    }
  }
  return posed;
}

SiteProblem::SiteProblem(const Problem &problem,
                         ArrayRef<ColocationGroup> groupList,
                         ArrayRef<Site> siteList)
    : problem(problem) {
  for (const ColocationGroup &group : groupList)
    groups[group.getRoles(problem)].push_back(&group);
  for (const Site &site : siteList)
    sites[{problem.nodeClass[size_t(site.node)], site.getPrevRoles()}]
        .push_back(&site);
}

/// What a group keeps on a site, by the benefits of its roles.
Weight SiteProblem::weigh(const GroupKey &group, const SiteKey &site,
                          Benefit onNode, Benefit onDevice) const {
  int64_t kept = 0;
  for (int64_t role : group)
    kept += onNode(role, site.first);
  if (kept == 0)
    return {};
  const assignment::Problem posed = poseSite(onDevice, group, site.second);
  return problem.weigh(kept, assignment::solve(posed).total.device);
}

Weight SiteProblem::weigh(const GroupKey &group, const SiteKey &site) const {
  return weigh(
      group, site,
      [&](int64_t role, int64_t node) { return problem.onNode.at(role, node); },
      [&](int64_t role, int64_t prevRole) {
        return problem.onDevice.at(role, prevRole);
      });
}

/// What any group of roles of the same groups keeps on any site of the same,
/// but for what pairs add.
Weight SiteProblem::weighGroups(const GroupKey &group,
                                const SiteKey &site) const {
  const auto ofGroups = [](const BenefitTable &table, int64_t role,
                           int64_t column) {
    return table.atGroups(table.getRowGroup(role),
                          table.getColumnGroup(column));
  };
  return weigh(
      group, site,
      [&](int64_t role, int64_t node) {
        return ofGroups(problem.onNode, role, node);
      },
      [&](int64_t role, int64_t prevRole) {
        return ofGroups(problem.onDevice, role, prevRole);
      });
}

/// Where sites differ in size, a small group must not take the only site that
/// is large enough for another: then being matched at all counts more than all
/// bytes together.
int64_t SiteProblem::getFitBonus() const {
  const size_t size = sites.begin()->first.second.size();
  if (llvm::all_of(sites, [&](const auto &entry) {
        return entry.first.second.size() == size;
      }))
    return 0;
  int64_t bytes = 1;
  for (int64_t role = 0; role < problem.getRoles(); ++role)
    bytes += problem.replicas * problem.onNode.getMost(role);
  return bytes;
}

/// The groups of what a site's devices hold, and its size; the first site of
/// each group stands for all.
int32_t SiteProblem::addSites(GroupedProblem &result) const {
  std::map<std::pair<int32_t, SmallVector<int32_t>>, int32_t> numbers;
  for (const auto &[site, list] : sites) {
    std::pair<int32_t, SmallVector<int32_t>> group(
        problem.onNode.getColumnGroup(site.first), {});
    for (int64_t role : site.second)
      group.second.push_back(role < 0 ? -1
                                      : problem.onDevice.getColumnGroup(role));
    result.colGroup.push_back(
        numbers.try_emplace(group, int32_t(numbers.size())).first->second);
    result.capacity.push_back(int64_t(list.size()));
  }
  return int32_t(numbers.size());
}

/// Where a role and a node share a span, a group with it gains more there.
void SiteProblem::addPairs(GroupedProblem &result) const {
  std::map<int64_t, SmallVector<std::pair<int32_t, const SiteKey *>>> ofClass;
  int32_t row = 0, number = 0;
  for (const auto &[site, list] : sites)
    ofClass[site.first].push_back({number++, &site});
  const Weight bonus{getFitBonus(), 0};
  for (const auto &[group, list] : groups) {
    for (int64_t role : group)
      for (auto [nodeClass, more] : problem.onNode.getPairs(role))
        for (auto [column, site] : ofClass[nodeClass])
          if (fits(group, *site) && !result.pairs.contains({row, column}))
            result.pairs[{row, column}] = weigh(group, *site) + bonus;
    ++row;
  }
}

GroupedProblem SiteProblem::pose() const {
  GroupedProblem result;
  const Weight bonus{getFitBonus(), 0};
  SmallVector<const SiteKey *> siteOf(size_t(addSites(result)));
  for (auto [group, site] : llvm::zip_equal(result.colGroup, sites))
    siteOf[size_t(group)] = &site.first;
  std::map<SmallVector<int32_t>, int32_t> numbers;
  for (const auto &[group, list] : groups) {
    SmallVector<int32_t> ofRoles;
    for (int64_t role : group)
      ofRoles.push_back(problem.onNode.getRowGroup(role));
    auto [known, isFirst] =
        numbers.try_emplace(ofRoles, int32_t(numbers.size()));
    result.rowGroup.push_back(known->second);
    result.supply.push_back(int64_t(list.size()));
    if (!isFirst)
      continue;
    for (auto [column, site] : llvm::enumerate(siteOf))
      if (fits(group, *site))
        result.groups[{known->second, int32_t(column)}] =
            weighGroups(group, *site) + bonus;
  }
  addPairs(result);
  return result;
}

} // namespace etc::placement
