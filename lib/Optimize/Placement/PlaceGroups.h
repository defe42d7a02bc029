// The best placement for one way to cut ranks and nodes.

#ifndef ETC_LIB_OPTIMIZE_PLACEMENT_PLACEGROUPS_H
#define ETC_LIB_OPTIMIZE_PLACEMENT_PLACEGROUPS_H

#include "Partition.h"

namespace etc::placement {

/// Exact, given the partition: groups are assigned to sites, and the ranks of
/// each to the devices of its site. Nothing where the groups do not fit.
std::optional<Solution> placeGroups(const Problem &problem,
                                    const Partition &partition);

/// The ranks of a group take the devices of a site on which they keep most.
void placeOnSite(const Problem &problem, const ColocationGroup &group,
                 const Site &site, std::vector<int64_t> &deviceOf);

/// The most that some groups keep on sites that they have to themselves.
assignment::Weight mostKept(const Problem &problem,
                            llvm::ArrayRef<ColocationGroup> groups,
                            llvm::ArrayRef<Site> sites);

} // namespace etc::placement

#endif // ETC_LIB_OPTIMIZE_PLACEMENT_PLACEGROUPS_H
