//===- RowShards.h - What FSDP cuts -----------------------------*- C++ -*-===//

#ifndef ETC_ANALYSIS_ROWSHARDS_H
#define ETC_ANALYSIS_ROWSHARDS_H

#include "dialect/Workloads.h"

namespace etc {

/// The pieces that a replica holds of its pool's pieces on a side with FSDP: of
/// each, what torch.chunk of the rows that the trainer sees gives its shard.
/// The last shards may be smaller than the first, or empty.
llvm::SmallVector<Piece> rowShards(const TensorTable &table,
                                   ParallelAttr parallel, Side side,
                                   llvm::ArrayRef<Piece> pool, int64_t replica);

} // namespace etc

#endif // ETC_ANALYSIS_ROWSHARDS_H
