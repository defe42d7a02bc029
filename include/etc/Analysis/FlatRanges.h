//===- FlatRanges.h - What the distributed optimizer cuts -------*- C++ -*-===//

#ifndef ETC_ANALYSIS_FLATRANGES_H
#define ETC_ANALYSIS_FLATRANGES_H

#include "dialect/Workloads.h"

namespace etc {

/// [replica] pieces.
using ReplicaRanges = std::vector<llvm::SmallVector<Piece>>;

/// The pieces of flat tensors that every replica of a pool (a role without
/// replica) holds on a side with the distributed optimizer. Megatron lays the
/// parameters of every model chunk out in a buffer (with expert parallelism,
/// those of experts in one of their own), the last parameter first: each starts
/// at a multiple of 64 elements, a bucket ends at one of lcm(n, 128), and is
/// cut into n equal ranges over the n ranks that hold the same. A buffer is one
/// bucket, but that of the first chunk is several where the side says how many
/// elements close one, and copies of the embedding that stages share have
/// buckets of their own.
ReplicaRanges flatRanges(MigrationOp migration, const TensorTable &table,
                         Side side, RoleAttr pool);

} // namespace etc

#endif // ETC_ANALYSIS_FLATRANGES_H
