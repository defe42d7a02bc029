// The proof in a plan file.

#ifndef ETC_PROOF_PLANCERTIFICATES_H
#define ETC_PROOF_PLANCERTIFICATES_H

#include "core/plan/PlanIndex.h"
#include "core/plan/Status.h"

namespace etc {

/// Checks that the certificates of a plan prove their bounds, by the plan's own
/// shards: a role and a column share no more bytes than their two duals, and
/// no more than a bound with relays has to enter nodes; bounds of time, of all
/// that moves and of the pause, count what has to cross their borders; and a
/// bound of time over all roles is proved for the place that it states. The
/// plan must have passed the referee, which adds duals up. Nothing here knows
/// how duals or borders are found. Takes time linear in the shards that have
/// bytes in common.
plan::Status verifyCertificates(const plan::PlanIndex &index);

/// The part of it that no rule of etc-verify-plan has checked when a plan is
/// made: bounds with relays, which are worked out for the file. The duals are
/// those of the IR, whose V10 compares them with what roles share.
plan::Status verifyRelayBounds(const plan::PlanIndex &index);

/// The bytes that have to cross the border of a bound's devices, by the plan's
/// shards; of a plan of one lane, those of all lanes.
uint64_t crossingBytes(const plan::PlanIndex &index,
                       const plan::fb::TimeBound &bound, bool ofPause);

/// verifyRelayBounds of the bound that a plan of one lane states for all.
plan::Status verifyBoundOfLanes(const plan::PlanIndex &index);

/// The same of a plan of one section of each kind.
plan::Status verifyBoundOfSections(const plan::PlanIndex &index);

} // namespace etc

#endif // ETC_PROOF_PLANCERTIFICATES_H
