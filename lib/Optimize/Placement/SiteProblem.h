// Colocation groups on sites, as an assignment.

#ifndef ETC_LIB_OPTIMIZE_PLACEMENT_SITEPROBLEM_H
#define ETC_LIB_OPTIMIZE_PLACEMENT_SITEPROBLEM_H

#include "Partition.h"
#include "etc/Optimize/Assignment/Grouped.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <map>

namespace etc::placement {

/// The roles of a colocation group, ascending.
using GroupKey = llvm::SmallVector<int64_t>;
/// What makes sites equal to every colocation group: the class of their node,
/// and the previous roles of their devices.
using SiteKey = std::pair<int64_t, llvm::SmallVector<int64_t>>;

/// Roles against the devices of one site, both by numbers (-1: none): a row a
/// role, a column a previous role.
assignment::Problem
poseSite(llvm::function_ref<int64_t(int64_t, int64_t)> benefitOf,
         llvm::ArrayRef<int64_t> roles, llvm::ArrayRef<int64_t> prevRoles);

/// What one partition's groups gain on its sites. A row is all groups of the
/// same roles, a column all sites that are equal to them.
class SiteProblem {
public:
  /// The partition must outlive it.
  SiteProblem(const Problem &problem, llvm::ArrayRef<ColocationGroup> groups,
              llvm::ArrayRef<Site> sites);

  assignment::GroupedProblem pose() const;
  const auto &getGroups() const { return groups; }
  const auto &getSites() const { return sites; }

private:
  using Benefit = llvm::function_ref<int64_t(int64_t, int64_t)>;
  bool fits(const GroupKey &group, const SiteKey &site) const {
    return group.size() <= site.second.size();
  }
  assignment::Weight weigh(const GroupKey &group, const SiteKey &site,
                           Benefit onNode, Benefit onDevice) const;
  assignment::Weight weigh(const GroupKey &group, const SiteKey &site) const;
  assignment::Weight weighGroups(const GroupKey &group,
                                 const SiteKey &site) const;
  int32_t addSites(assignment::GroupedProblem &result) const;
  void addPairs(assignment::GroupedProblem &result) const;
  int64_t getFitBonus() const;

  const Problem &problem;
  std::map<GroupKey, llvm::SmallVector<const ColocationGroup *>> groups;
  std::map<SiteKey, llvm::SmallVector<const Site *>> sites;
};

} // namespace etc::placement

#endif // ETC_LIB_OPTIMIZE_PLACEMENT_SITEPROBLEM_H
