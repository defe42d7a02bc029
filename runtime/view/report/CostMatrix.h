// What previous roles lack of current ones, worked out from the shards of a
// plan.

#ifndef ETC_RUNTIME_VIEW_REPORT_COSTMATRIX_H
#define ETC_RUNTIME_VIEW_REPORT_COSTMATRIX_H

#include "view/report/Roles.h"

namespace etc::runtime {

/// Roles are rows and columns, or whole stages of them where there are too many
/// roles to look at. A cost is in bytes of what is not derived where it lands;
/// for stages it is what a role lacks of the best of a stage, in the mean.
struct CostMatrix {
  std::vector<std::string> rows, columns; // curr, prev
  std::vector<std::vector<uint64_t>> costs;
  /// How many devices of column j take row i; where it isn't 0.
  struct Pair {
    uint32_t row, column, devices;
  };
  std::vector<Pair> pairs;
};

/// Empty where even the costs of stages would take long.
CostMatrix costMatrixOf(const plan::PlanIndex &index, const RoleTable &prev,
                        const RoleTable &curr);

} // namespace etc::runtime

#endif // ETC_RUNTIME_VIEW_REPORT_COSTMATRIX_H
