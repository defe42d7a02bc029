//===- NodeClasses.h - Nodes that hold the same roles ---------------------===//

#ifndef ETC_LIB_TRANSFORMS_NODECLASSES_H
#define ETC_LIB_TRANSFORMS_NODECLASSES_H

#include "Devices.h"
#include "Holdings.h"

#include <map>

namespace etc {

/// Classes of nodes, numbered by their first node. Two nodes are of one class
/// where their living devices hold the same set of previous roles: what a role
/// need not fetch from another node depends on nothing else.
struct NodeClasses {
  llvm::SmallVector<int64_t> ofNode;                   ///< [node]
  llvm::SmallVector<llvm::SmallVector<int64_t>> roles; ///< [class] ascending

  explicit NodeClasses(const Devices &devices);

  /// Bytes of `pieces`, current ones, that a node of each class holds.
  llvm::SmallVector<int64_t> bytesOf(const TensorTable &table,
                                     const Holdings &prev,
                                     llvm::ArrayRef<Piece> pieces) const;
};

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_NODECLASSES_H
