// The witnesses of time in a plan.

#ifndef ETC_PROOF_PLANTIMEBOUNDS_H
#define ETC_PROOF_PLANTIMEBOUNDS_H

#include "core/plan/PlanIndex.h"
#include "core/plan/Status.h"

namespace etc {

/// Checks what the bounds of all that moves and of the pause state, by the
/// plan's own shards.
plan::Status verifyTimeBounds(const plan::PlanIndex &index);

} // namespace etc

#endif // ETC_PROOF_PLANTIMEBOUNDS_H
