//===- PairWriter.h - Who takes over from whom ----------------------------===//

#ifndef ETC_LIB_TRANSFORMS_PAIRWRITER_H
#define ETC_LIB_TRANSFORMS_PAIRWRITER_H

#include "dialect/Etc.h"

#include "mlir/IR/Builders.h"

namespace etc {

/// Where a current rank comes from.
struct RankSource {
  int64_t prevRole = -1; ///< or -1: from none
  /// The replica of that role; from none the device, or -1 for any.
  int64_t number = -1;
};

/// An `etc.pair` for every pair of roles in `sources`, which has an entry for
/// each replica of each current role.
void createPairs(mlir::OpBuilder &builder, MigrationOp migration,
                 llvm::ArrayRef<RankSource> sources);

/// The replica of its previous role that every device was, or -1.
llvm::SmallVector<int64_t> prevReplicas(MigrationOp migration);

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_PAIRWRITER_H
