//===- Preserved.h - Analyses that stand on others --------------*- C++ -*-===//

#ifndef ETC_ANALYSIS_PRESERVED_H
#define ETC_ANALYSIS_PRESERVED_H

#include "mlir/Pass/AnalysisManager.h"

namespace etc {

/// Whether a pass has left all of these as they are: an analysis that refers to
/// others ends with the first of them.
template <typename... Analyses>
bool arePreserved(const mlir::AnalysisManager::PreservedAnalyses &preserved) {
  return (preserved.isPreserved<Analyses>() && ...);
}

} // namespace etc

#endif // ETC_ANALYSIS_PRESERVED_H
