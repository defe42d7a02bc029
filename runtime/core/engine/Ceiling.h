// How fast a plan's bytes can travel at best, on this machine, now.

#ifndef ETC_RUNTIME_CORE_ENGINE_CEILING_H
#define ETC_RUNTIME_CORE_ENGINE_CEILING_H

#include "core/device/Worker.h"
#include "core/plan/PlanIndex.h"
#include "core/transport/Collectives.h"
#include "core/transport/Transport.h"

namespace etc::runtime {

/// Sends the plan's byte matrix round by round as bare messages: one contiguous
/// piece a peer and direction, out of warm memory and into it; nothing is
/// packed, hashed or acknowledged. What a device keeps by a copy (refers of
/// parts) is one plain copy too. Over threads every message is one plain copy.
/// All ranks call it together. Returns the seconds from the common start to
/// this rank's end: the median of three times.
Result<double> measureCeiling(const plan::PlanIndex &index, RankAndCount self,
                              Control &control, Transport &transport,
                              Worker &worker, Milliseconds timeout);

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_ENGINE_CEILING_H
