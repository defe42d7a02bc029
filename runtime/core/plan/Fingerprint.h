// The fingerprint of a plan: the root of a tree of hashes. Its leaves are what
// each participant does, so that a rank's slice of the plan proves by the
// hashes beside its way to the root that it belongs to the plan.
//
// The hashes are XXH3-64. They find what was mixed up; they are no protection
// from somebody who wants to replace a plan.

#ifndef ETC_PLAN_FINGERPRINT_H
#define ETC_PLAN_FINGERPRINT_H

#include "core/plan/PlanIndex.h"
#include "core/plan/Status.h"

#include <cstdint>
#include <vector>

namespace etc::plan {

/// The tree of a whole plan, which passed checkFormat. Takes time linear in the
/// plan's instructions and devices.
class FingerprintTree {
public:
  explicit FingerprintTree(const PlanIndex &index);

  uint64_t root() const { return root_; }
  /// The hashes that join a rank's leaf to the root, from the leaf up.
  std::vector<uint64_t> path(uint32_t rank) const;
  /// The hash of what slices leave out of the plan's header.
  uint64_t rest() const { return rest_; }

private:
  /// Level 0 has the leaves; the last level has one hash.
  std::vector<std::vector<uint64_t>> levels_;
  uint64_t rest_, root_;
};

/// The same for a plan and for all of its slices. Of a plan, worked out anew.
uint64_t fingerprint(const PlanIndex &index);

/// Whether a slice is of the plan whose fingerprint it states.
Status checkSlice(const PlanIndex &index);

} // namespace etc::plan

#endif // ETC_PLAN_FINGERPRINT_H
