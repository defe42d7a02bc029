//===- Devices.h - Who is alive, where, and what it was -------------------===//

#ifndef ETC_ANALYSIS_DEVICES_H
#define ETC_ANALYSIS_DEVICES_H

#include "dialect/Etc.h"

#include "llvm/ADT/BitVector.h"

namespace etc {

/// A rank's place in the grid: its role's number, and its number among the
/// ranks that hold the same.
struct RankPlace {
  int64_t role, replica;
};

/// Megatron's rank order, taken apart and put together.
RankPlace placeOfRank(ParallelAttr parallel, int64_t rank);
int64_t rankOfPlace(ParallelAttr parallel, RankPlace place);

/// The devices of a migration: status, node and previous role.
class Devices {
public:
  explicit Devices(MigrationOp migration)
      : dead(migration.getDeviceCount()), draining(migration.getDeviceCount()),
        prevRole(migration.getDeviceCount(), -1) {
    for (int64_t device :
         migration.getFailed().value_or(llvm::ArrayRef<int64_t>()))
      dead.set(device);
    for (int64_t device :
         migration.getDraining().value_or(llvm::ArrayRef<int64_t>()))
      draining.set(device);
    for (auto [rank, device] : llvm::enumerate(migration.getPrevPlacement()))
      if (!dead.test(device))
        prevRole[device] = placeOfRank(migration.getPrev(), rank).role;
    for (auto [node, count] : llvm::enumerate(migration.getNodes()))
      nodeOf.append(count, node);
  }

  int64_t size() const { return nodeOf.size(); }
  int64_t getNode(int64_t device) const { return nodeOf[device]; }
  /// Alive and staying: may take a role.
  bool isUsable(int64_t device) const {
    return !dead.test(device) && !draining.test(device);
  }
  int64_t getNodeCount() const { return size() ? nodeOf.back() + 1 : 0; }
  /// The role whose state the device holds, or -1: it held none, or it is dead.
  int64_t getPrevRole(int64_t device) const { return prevRole[device]; }

private:
  llvm::BitVector dead, draining;
  llvm::SmallVector<int64_t> prevRole;
  llvm::SmallVector<int64_t> nodeOf;
};

} // namespace etc

#endif // ETC_ANALYSIS_DEVICES_H
