//===- FlatRanges.h - What the distributed optimizer cuts -------*- C++ -*-===//

#ifndef ETC_LIB_TRANSFORMS_FLATRANGES_H
#define ETC_LIB_TRANSFORMS_FLATRANGES_H

#include "dialect/Workloads.h"

namespace etc {

/// The pieces of flat tensors that a role holds on a side with the distributed
/// optimizer. Megatron lays the parameters of every model chunk out in buffers,
/// one for experts and one for the rest, the last parameter first: each starts
/// at a multiple of 64 elements, the buffer ends at one of lcm(n, 128), and is
/// cut into n equal ranges over the n ranks that hold the same. An embedding
/// that has a tied copy on another stage, and the copy, have a bucket of their
/// own, which is cut by itself.
llvm::SmallVector<Piece> flatRanges(MigrationOp migration,
                                    const TensorTable &table, Side side,
                                    RoleAttr role);

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_FLATRANGES_H
