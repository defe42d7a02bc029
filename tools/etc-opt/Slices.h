//===- Slices.h - --slice -------------------------------------------------===//

#ifndef ETC_TOOLS_ETCOPT_SLICES_H
#define ETC_TOOLS_ETCOPT_SLICES_H

#include "Options.h"
#include "core/plan/plan_generated.h"

namespace etc {

/// Writes the slice of the rank that --slice names, or those of all ranks, each
/// into a file of its own: m.etcplan becomes m.0.etcplan, m.1.etcplan, ...
/// Returns the exit status.
int writeSlices(const PlannerOptions &options, const plan::fb::Plan &plan);

} // namespace etc

#endif // ETC_TOOLS_ETCOPT_SLICES_H
