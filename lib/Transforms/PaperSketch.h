//===- PaperSketch.h - Algorithm 1, and the devices it leads to -----------===//

#ifndef ETC_LIB_TRANSFORMS_PAPERSKETCH_H
#define ETC_LIB_TRANSFORMS_PAPERSKETCH_H

#include "etc/Analysis/Devices.h"

namespace etc {

/// "k is usually less than 1,024" (section III-B): what the cubic solver is
/// meant for.
constexpr int64_t paperMaxRoles = 1024;

/// The previous role that each current role is paired with, or -1: one sketch,
/// the same for every data-parallel group.
using PaperSketch = llvm::SmallVector<int64_t>;

/// Algorithm 1: pads the costs with zeros to a square, assigns, and drops the
/// pairs that involve padding.
PaperSketch solvePaperSketch(int64_t rows, int64_t columns,
                             llvm::ArrayRef<int64_t> costs);

/// Device of every current rank: its previous rank's in the same data-parallel
/// group, or -1 where the role or the group has no counterpart, or where that
/// device takes no role any more.
llvm::SmallVector<int64_t> placePaperSketch(MigrationOp migration,
                                            const Devices &devices,
                                            const PaperSketch &sketch);

/// Gives every rank that has no device the lowest one that is free; false where
/// they run out.
bool placeUnpaired(const Devices &devices,
                   llvm::MutableArrayRef<int64_t> placement);

/// Algorithm 2, repaired: the final device of every current rank.
llvm::SmallVector<int64_t> defragment(MigrationOp migration,
                                      const Devices &devices,
                                      llvm::ArrayRef<int64_t> placement);

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_PAPERSKETCH_H
