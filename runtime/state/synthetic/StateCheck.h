// Filling boxes of the previous state by formula, and checking boxes of the
// current state against it.

#ifndef ETC_RUNTIME_STATE_SYNTHETIC_STATECHECK_H
#define ETC_RUNTIME_STATE_SYNTHETIC_STATECHECK_H

#include "core/pack/Copy.h"
#include "state/synthetic/Formula.h"

#include "core/plan/Status.h"

#include <vector>

namespace etc::runtime {

/// Writes every element of a region of `tensor` on one side. Current elements
/// outside the previous shape are zero.
void fillRegion(const PlanIndex &index, uint32_t tensor, plan::Side side,
                Region region);

/// Compares every element, bit for bit. The error is of kind Verification and
/// names the first wrong element of the region: the tensor, where, what was
/// expected, what is there.
plan::Status checkRegion(const PlanIndex &index, uint32_t tensor,
                         plan::Side side, ConstRegion region);

/// Compares two dense copies of a box. The error is checkRegion's.
plan::Status compareElements(const PlanIndex &index, uint32_t tensor,
                             BoxView box, const std::byte *expected,
                             const std::byte *actual);

/// The same as moves, for memory that the host cannot reach: what writes a
/// region, and what counts its wrong elements in a sum that the caller sets.
void appendFill(const PlanIndex &index, uint32_t tensor, plan::Side side,
                Region region, std::vector<Move> &moves);
void appendCheck(const PlanIndex &index, uint32_t tensor, plan::Side side,
                 ConstRegion region, std::vector<Move> &moves);

} // namespace etc::runtime

#endif // ETC_RUNTIME_STATE_SYNTHETIC_STATECHECK_H
