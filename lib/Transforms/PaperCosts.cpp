//===- PaperCosts.cpp - The paper's cost matrices -------------------------===//

#include "PaperCosts.h"

using namespace etc;
using llvm::ArrayRef;

/// `total` items, cut evenly on both sides: c_ij = |curr_i| - |curr_i and
/// prev_j|.
static PaperMatrix buildCosts(int64_t total, int64_t currParts,
                              int64_t prevParts) {
  PaperMatrix matrix(currParts, prevParts);
  int64_t curr = total / currParts, prev = total / prevParts;
  for (int64_t row = 0; row < currParts; ++row)
    for (int64_t column = 0; column < prevParts; ++column) {
      int64_t begin = std::max(row * curr, column * prev);
      int64_t end = std::min((row + 1) * curr, (column + 1) * prev);
      matrix.at(row, column) = curr - std::max<int64_t>(0, end - begin);
    }
  return matrix;
}

bool etc::isPaperForm(MigrationOp migration) {
  return llvm::all_of(
      ArrayRef<ParallelAttr>{migration.getPrev(), migration.getCurr()},
      [](ParallelAttr parallel) {
        return parallel.getCp() == 1 && parallel.getEp() == 1 &&
               parallel.getEtp() == parallel.getTp() &&
               parallel.getVpp() == 1 && parallel.getStages().empty() &&
               !parallel.getPpBeforeDp() && !parallel.hasRanges();
      });
}

PaperMatrix etc::buildPipelineCosts(MigrationOp migration) {
  return buildCosts(migration.getLayers(), migration.getCurr().getPp(),
                    migration.getPrev().getPp());
}

PaperMatrix etc::buildTensorCosts(MigrationOp migration) {
  return buildCosts(migration.getSliceCount(), migration.getCurr().getTp(),
                    migration.getPrev().getTp());
}

PaperMatrix etc::mergeCosts(const PaperMatrix &pipeline,
                            const PaperMatrix &tensor) {
  PaperMatrix merged(pipeline.rows * tensor.rows,
                     pipeline.columns * tensor.columns);
  int64_t pipelineMax = pipeline.max(), tensorMax = tensor.max();
  // The coefficient is cost / max; times max, all costs are integers. Where max
  // is 0 it would be 0/0: it is 1 then.
  int64_t scale = std::max<int64_t>(1, tensorMax);
  for (int64_t row = 0; row < merged.rows; ++row)
    for (int64_t column = 0; column < merged.columns; ++column) {
      int64_t cost = pipeline.at(row / tensor.rows, column / tensor.columns);
      // No stage in common: the largest cost, whatever the tensor ranks share.
      bool isFull = cost == pipelineMax || tensorMax == 0;
      merged.at(row, column) =
          cost * (isFull
                      ? scale
                      : tensor.at(row % tensor.rows, column % tensor.columns));
    }
  return merged;
}
