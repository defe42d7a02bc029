// The bound of a plan's time, in words.

#ifndef ETC_PLAN_TIMEBOUND_H
#define ETC_PLAN_TIMEBOUND_H

#include "core/plan/PlanIndex.h"

#include <optional>
#include <set>
#include <string>

namespace etc::plan {

/// Whether the plan defers state, of which none may have to move.
bool defersState(const PlanIndex &index);

/// Seconds that no routing of the plan's roles is below, of all that moves or
/// of the pause; 0 without a bound.
double boundSeconds(const fb::TimeBound *bound);

/// What bytes cross between the devices of a bound and other participants; of
/// a plan of one lane, in that lane.
struct Border {
  /// Links and NICs of the devices; and those at the other ends of the hops
  /// that cross.
  struct End {
    uint64_t links = 0, nics = 0;
  };
  std::set<uint32_t> nodes;
  bool hasWholeNodes = true; ///< all participants of these nodes
  End own, other;

  /// The ends whose links and NICs carry so many bytes a second; of a plan of
  /// one lane, in all lanes.
  struct Ends {
    const End *links, *nics;
  };
  std::optional<Ends> findEnds(const PlanIndex &index, uint64_t rate) const;
  static uint64_t rateOf(const PlanIndex &index, const Ends &ends);
};
Border borderOf(const PlanIndex &index, const fb::TimeBound &bound);

/// Why: "node 1 lacks 96.36 GB and has 8 x 50 GB/s". Empty without a bound.
std::string describeBound(const PlanIndex &index, const fb::TimeBound *bound);

/// Seconds that nothing is below, whichever roles the request lets devices
/// take; 0 without a bound.
double roleBoundSeconds(const fb::RoleBound *bound);

/// Why: "nodes 2, 3 lack 24.4 GB and receive 100 GB/s". Empty without a bound.
std::string describeRoleBound(const fb::RoleBound *bound);

} // namespace etc::plan

#endif // ETC_PLAN_TIMEBOUND_H
