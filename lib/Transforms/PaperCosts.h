//===- PaperCosts.h - The paper's cost matrices ---------------------------===//
//
// By dimension (section III-B) and merged (section III-C). docs/paper-policy.md
// says how the text is read.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_LIB_TRANSFORMS_PAPERCOSTS_H
#define ETC_LIB_TRANSFORMS_PAPERCOSTS_H

#include "dialect/Etc.h"

namespace etc {

/// Costs of current (rows) against previous (columns).
struct PaperMatrix {
  PaperMatrix(int64_t rows, int64_t columns)
      : rows(rows), columns(columns), costs(rows * columns) {}

  int64_t &at(int64_t row, int64_t column) {
    return costs[row * columns + column];
  }
  int64_t at(int64_t row, int64_t column) const {
    return costs[row * columns + column];
  }
  int64_t max() const { return *llvm::max_element(costs); }

  int64_t rows, columns;
  llvm::SmallVector<int64_t> costs;
};

/// Whether the paper defines its method here: pipeline, tensor and data
/// parallelism, even stages, replicated optimizer states.
bool isPaperForm(MigrationOp migration);

/// PP' x PP: layers of a current stage that a previous one lacks.
PaperMatrix buildPipelineCosts(MigrationOp migration);
/// TP' x TP: slices, LCM(TP, TP') in all, of a current tensor rank that a
/// previous one lacks.
PaperMatrix buildTensorCosts(MigrationOp migration);
/// Roles x roles: the pipeline cost times the coefficient that the tensor cost
/// gives, as integers.
PaperMatrix mergeCosts(const PaperMatrix &pipeline, const PaperMatrix &tensor);

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_PAPERCOSTS_H
