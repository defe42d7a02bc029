//===- FlatBoxes.h - Elements in a row as boxes -----------------*- C++ -*-===//

#ifndef ETC_ANALYSIS_FLATBOXES_H
#define ETC_ANALYSIS_FLATBOXES_H

#include "dialect/Piece.h"

namespace etc {

/// Appends the boxes of elements [begin, end) of a shard, counted row by row:
/// a part of a row, whole rows, a part of a row, on each axis.
void appendFlatBoxes(const Piece &shard, int64_t begin, int64_t end,
                     llvm::SmallVectorImpl<Piece> &pieces);

} // namespace etc

#endif // ETC_ANALYSIS_FLATBOXES_H
