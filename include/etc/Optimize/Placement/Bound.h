// The assignment that bounds all placements: what no placement keeps more of,
// on devices or on nodes, each by itself.

#ifndef ETC_OPTIMIZE_PLACEMENT_BOUND_H
#define ETC_OPTIMIZE_PLACEMENT_BOUND_H

#include "etc/Optimize/Assignment/Grouped.h"
#include "etc/Optimize/Placement/Benefits.h"

namespace etc::placement {

/// Rows with `replicas` each on columns that take `members` roles [columns], by
/// their benefits. Its solution's duals are the certificate.
assignment::GroupedProblem poseBound(const BenefitTable &benefits,
                                     int64_t replicas,
                                     std::vector<int64_t> members);

} // namespace etc::placement

#endif // ETC_OPTIMIZE_PLACEMENT_BOUND_H
