//===- RoleContents.h - What roles need, by who needs it --------*- C++ -*-===//

#ifndef ETC_ANALYSIS_ROLECONTENTS_H
#define ETC_ANALYSIS_ROLECONTENTS_H

#include "etc/Analysis/Holdings.h"

namespace etc {

/// All bytes, in the types that move, that the same current roles need. A tied
/// copy and its twin are the same bytes.
struct NeededContent {
  llvm::SmallVector<int64_t> roles; ///< ascending
  int64_t bytes = 0;
  /// [column] what the column does not hold.
  llvm::SmallVector<int64_t> lacking;
};

/// Of columns that each hold some previous roles. Nothing for inventories.
std::optional<std::vector<NeededContent>>
listContents(const TensorTable &table, const BothHoldings &holdings,
             llvm::ArrayRef<llvm::SmallVector<int64_t>> columns);

} // namespace etc

#endif // ETC_ANALYSIS_ROLECONTENTS_H
