//===- Fleet.h - Which devices hold what ------------------------*- C++ -*-===//

#ifndef ETC_OPTIMIZE_SOURCES_FLEET_H
#define ETC_OPTIMIZE_SOURCES_FLEET_H

#include "etc/Optimize/Sources/Fragment.h"

#include "llvm/ADT/ArrayRef.h"

#include <vector>

namespace etc {

/// The devices of a cluster, node by node, and what each of them held.
class Fleet {
public:
  /// `role` and `pool` are those whose state the device holds; -1: none, or it
  /// is dead.
  struct Device {
    int64_t node, role, pool;
  };
  /// `hasRanges`: pools are several roles.
  Fleet(std::vector<Device> devices, bool hasRanges);

  int64_t size() const { return devices.size(); }
  int64_t getNode(int64_t device) const { return devices[device].node; }
  int64_t getNodeCount() const { return onNode.size(); }
  bool hasRanges() const { return ranges; }
  /// Those of a node that hold anything, ascending.
  llvm::ArrayRef<int64_t> getHoldersOn(int64_t node) const {
    return onNode[node];
  }

  bool holds(const Fragment &fragment, int64_t device) const;
  /// The devices alive that have what some holders had, holder by holder.
  llvm::SmallVector<int64_t> findHolders(llvm::ArrayRef<Holder> holders) const;
  llvm::SmallVector<int64_t> findHolders(const Fragment &fragment) const {
    return findHolders(fragment.holders);
  }

private:
  std::vector<Device> devices;
  bool ranges;
  std::vector<llvm::SmallVector<int64_t>> onNode, ofRole, ofPool;
};

} // namespace etc

#endif // ETC_OPTIMIZE_SOURCES_FLEET_H
