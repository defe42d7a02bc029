// The summary of a plan in JSON, as docs/plan-format.md has it: that of
// `--emit=json` and of the report's page.

#ifndef ETC_RUNTIME_VIEW_REPORT_SUMMARYJSON_H
#define ETC_RUNTIME_VIEW_REPORT_SUMMARYJSON_H

#include "core/plan/PlanIndex.h"

#include <nlohmann/json.hpp>

namespace etc::runtime {

/// Bytes are numbers; "paper_policy" is null where the plan has none.
nlohmann::ordered_json summaryJson(const plan::PlanIndex &index);

/// The bound of time with its witness, the time of the busiest link or NIC, and
/// what the simulator predicts, in seconds, for the rates that the plan states;
/// null where it states none.
nlohmann::ordered_json timeJson(const plan::PlanIndex &index);

/// The same of the pause, and how many rounds it has; null where nothing is
/// deferred.
nlohmann::ordered_json pauseJson(const plan::PlanIndex &index);

/// A certificate in words and bytes: what it bounds, for which roles and plans.
/// The proof, its duals, is left to those who check it.
nlohmann::ordered_json
certificateJson(const plan::fb::Certificate &certificate);

} // namespace etc::runtime

#endif // ETC_RUNTIME_VIEW_REPORT_SUMMARYJSON_H
