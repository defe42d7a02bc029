//===- CheckPlace.h - Groups in nodes, and nodes that are needed ----------===//

#ifndef ETC_LIB_TRANSFORMS_CHECKPLACE_H
#define ETC_LIB_TRANSFORMS_CHECKPLACE_H

#include "dialect/Etc.h"

namespace etc {

/// Whether a placement is what `place` of the migration asks for: `tp` and
/// `pack` have every tensor-parallel group on as few nodes as it needs, `pack`
/// all ranks on the fewest. A placement that the request fixes is free.
mlir::LogicalResult checkPlace(MigrationOp migration, PlacementOp placement);

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_CHECKPLACE_H
