//===- Export.h - What leaves the compiler --------------------------------===//

#ifndef ETC_EXPORT_EXPORT_H
#define ETC_EXPORT_EXPORT_H

#include "core/plan/plan_generated.h"
#include "dialect/Etc.h"

#include <cstdint>
#include <vector>

namespace etc {

/// The plan of a migration in its last stage, as the bytes of a plan file.
/// Every plan is refereed before it is returned: its shard tables against
/// lib/Layout, then its boxes by the runtime's referee, then the proof in its
/// certificates. Fails with a diagnostic
/// on the migration; a failure of a referee is a defect of the planner, not of
/// the request.
mlir::FailureOr<std::vector<uint8_t>> exportPlan(MigrationOp migration);

/// The bytes that enter nodes in any plan of all lanes: the duals of one lane
/// prove as much for each, and more devices share what enters once. `plan` has
/// its lanes, `packed` is the same plan without them.
uint64_t boundOfLanes(const plan::fb::PlanT &plan,
                      const plan::fb::Plan &packed);

/// Writes into the sections of a plan, whose kinds and list are stated, what
/// all sections add up to: summary, bounds and bytes of rounds. `plan` may be
/// of a lane, `packed` is the same plan without sections.
void stateTotals(plan::fb::PlanT &plan, const plan::fb::Plan &packed);

} // namespace etc

#endif // ETC_EXPORT_EXPORT_H
