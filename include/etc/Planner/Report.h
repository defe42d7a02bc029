//===- Report.h - A plan as a page ------------------------------*- C++ -*-===//

#ifndef ETC_PLANNER_REPORT_H
#define ETC_PLANNER_REPORT_H

#include "etc/Planner/Price.h"
#include "etc/Planner/Rates.h"

#include <optional>
#include <string>

namespace etc {

/// A plan as one HTML page. Times are predicted at the rates; without, for
/// nodes with H100 GPUs. `notes` is text that stands at the page's end; `price`
/// that of the plan's placement.
std::string reportPage(const plan::fb::Plan &plan,
                       const std::optional<Rates> &rates,
                       const std::string &notes,
                       const std::optional<Price> &price = std::nullopt);

} // namespace etc

#endif // ETC_PLANNER_REPORT_H
