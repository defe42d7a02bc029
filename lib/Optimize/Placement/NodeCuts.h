// What enters nodes and leaves classes of nodes, kept up to date while roles
// change nodes.

#ifndef ETC_LIB_OPTIMIZE_PLACEMENT_NODECUTS_H
#define ETC_LIB_OPTIMIZE_PLACEMENT_NODECUTS_H

#include "etc/Optimize/Placement/Entering.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

namespace etc::placement {

class NodeCuts {
public:
  NodeCuts(const Problem &problem, const Entering &entering);

  /// A node begins to need a content that no role of it needed, or none needs
  /// it any more.
  void begin(int32_t node, int32_t content) { change(node, content, 1); }
  void end(int32_t node, int32_t content) { change(node, content, -1); }

  /// The bytes that enter all nodes.
  int64_t countEntering() const;
  /// The slowest cut, in bytes a NIC, where so many NICs of each node take
  /// part.
  int64_t findSlowest(llvm::ArrayRef<int64_t> nics) const;
  /// How slow these are together, to tell placements apart whose slowest cut is
  /// the same: the slowest, how many are as slow, and the sum of all.
  std::tuple<int64_t, int64_t, int64_t>
  measure(llvm::ArrayRef<int64_t> nics) const;
  /// The nodes whose NICs the slowest cut counts.
  llvm::SmallVector<int32_t> findNodes(llvm::ArrayRef<int64_t> nics) const;

private:
  /// Bytes of a content that nodes of one class alone hold.
  struct Alone {
    int32_t nodeClass;
    int64_t bytes;
    int32_t needers; ///< nodes of the class that need the content
  };
  void change(int32_t node, int32_t content, int32_t by);
  template <typename Fn>
  void forCuts(llvm::ArrayRef<int64_t> nics, Fn fn) const;

  const Problem &problem;
  const Entering &entering;
  std::vector<int64_t> into;                      ///< [node] bytes
  std::vector<int64_t> outOf;                     ///< [node class] bytes
  std::vector<int32_t> needers;                   ///< [content] nodes
  std::vector<llvm::SmallVector<Alone, 1>> alone; ///< [content]
};

} // namespace etc::placement

#endif // ETC_LIB_OPTIMIZE_PLACEMENT_NODECUTS_H
