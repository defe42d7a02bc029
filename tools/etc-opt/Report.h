//===- Report.h - A plan as a page ----------------------------------------===//

#ifndef ETC_TOOLS_ETCOPT_REPORT_H
#define ETC_TOOLS_ETCOPT_REPORT_H

#include "plan/plan_generated.h"

#include "llvm/Support/raw_ostream.h"

#include <optional>
#include <string>

namespace etc {

/// Writes the HTML page. Times are predicted at `rates`, which can be parsed;
/// where there are none, for nodes with H100 GPUs. `notes` is text that stands
/// at the page's end.
void writeReport(const plan::fb::Plan &plan,
                 const std::optional<std::string> &rates,
                 const std::string &notes, llvm::raw_ostream &os);

} // namespace etc

#endif // ETC_TOOLS_ETCOPT_REPORT_H
