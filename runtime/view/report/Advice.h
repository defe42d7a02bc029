// What takes a plan's time, and what could shorten it, in words.

#ifndef ETC_RUNTIME_VIEW_REPORT_ADVICE_H
#define ETC_RUNTIME_VIEW_REPORT_ADVICE_H

#include "view/report/Report.h"
#include "view/report/TimeParts.h"

#include <string>
#include <vector>

namespace etc::runtime {

/// The largest gain first. `hasBounds`: the plan's bounds are of the cluster
/// that the parts are of.
std::vector<std::string> adviceOn(const plan::PlanIndex &index,
                                  const TimeParts &parts, bool hasBounds);

} // namespace etc::runtime

#endif // ETC_RUNTIME_VIEW_REPORT_ADVICE_H
