//===- PlanText.h - A plan as text ----------------------------------------===//

#ifndef ETC_EXPORT_PLANTEXT_H
#define ETC_EXPORT_PLANTEXT_H

#include "etc/Export/PlanFacts.h"

#include "llvm/Support/raw_ostream.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace etc {

/// "17.63 GB": decimal units, as networks are sold.
std::string formatBytes(uint64_t bytes);
/// "41.7 ms", "2.967 s".
std::string formatSeconds(double seconds);

/// The plan as the public interchange form. `devices` selects some; absent, all
/// are written.
void writeJson(const plan::fb::Plan &plan,
               const std::optional<std::vector<int64_t>> &devices,
               llvm::raw_ostream &os);

/// What the plan does, in a few lines for people.
void writeSummary(const plan::fb::Plan &plan, llvm::raw_ostream &os);
/// `derives` says that the request would cast what it can, which a plan of an
/// inventory does not show.
void writeSummary(const PlanFacts &facts, llvm::raw_ostream &os,
                  bool derives = false);

} // namespace etc

#endif // ETC_EXPORT_PLANTEXT_H
