//===- FlatRanges.h - What the distributed optimizer cuts -------*- C++ -*-===//

#ifndef ETC_LIB_TRANSFORMS_FLATRANGES_H
#define ETC_LIB_TRANSFORMS_FLATRANGES_H

#include "dialect/Workloads.h"

namespace etc {

/// The pieces of flat tensors that a role holds on a side with the distributed
/// optimizer. Megatron lays the parameters of every model chunk out in a buffer
/// (with expert parallelism, those of experts in one of their own), the last
/// parameter first: each starts at a multiple of 64 elements, a bucket ends at
/// one of lcm(n, 128), and is cut into n equal ranges over the n ranks that
/// hold the same. A buffer is one bucket, but copies of the embedding that
/// stages share have buckets of their own.
llvm::SmallVector<Piece> flatRanges(MigrationOp migration,
                                    const TensorTable &table, Side side,
                                    RoleAttr role);

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_FLATRANGES_H
