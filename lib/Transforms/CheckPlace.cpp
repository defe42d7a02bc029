//===- CheckPlace.cpp - Groups in nodes, and nodes that are needed --------===//

#include "CheckPlace.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallSet.h"

using namespace etc;
using namespace mlir;

using NodeSet = llvm::SmallSet<int64_t, 8>;

/// The usable devices of every node.
static SmallVector<int64_t> usableDevices(MigrationOp migration) {
  SmallVector<int64_t> ends, usable(migration.getNodes());
  for (int64_t count : migration.getNodes())
    ends.push_back((ends.empty() ? 0 : ends.back()) + count);
  llvm::SmallSet<int64_t, 16> gone;
  for (auto list : {migration.getFailed(), migration.getLeaving()})
    for (int64_t device : list.value_or(ArrayRef<int64_t>()))
      if (gone.insert(device).second)
        --usable[llvm::upper_bound(ends, device) - ends.begin()];
  return usable;
}

static NodeSet nodesOf(ArrayRef<int64_t> nodeOf, ArrayRef<int64_t> devices) {
  NodeSet nodes;
  for (int64_t device : devices)
    nodes.insert(nodeOf[device]);
  return nodes;
}

/// The fewest nodes that hold `groups` of `tp` ranks, none of which is split.
static size_t fewestNodes(SmallVector<int64_t> usable, int64_t tp,
                          int64_t groups) {
  llvm::sort(usable, std::greater<>());
  size_t nodes = 0;
  for (int64_t room = 0; room < groups && nodes < usable.size(); ++nodes)
    room += usable[nodes] / tp;
  return nodes;
}

LogicalResult etc::checkPlace(MigrationOp migration, PlacementOp placement) {
  std::optional<Place> place = migration.getPlace();
  if (!place || *place == Place::Any || migration.getCurrDevices())
    return success();
  SmallVector<int64_t> usable = usableDevices(migration), nodeOf;
  for (auto [node, count] : llvm::enumerate(migration.getNodes()))
    nodeOf.append(count, node);
  int64_t tp = migration.getCurr().getTp();
  size_t parts = llvm::divideCeil(tp, *llvm::max_element(usable));
  ArrayRef<int64_t> devices = placement.getDevices();
  // Tensor ranks are the fastest dimension of a rank.
  for (int64_t rank = 0; rank < static_cast<int64_t>(devices.size());
       rank += tp)
    if (size_t nodes = nodesOf(nodeOf, devices.slice(rank, tp)).size();
        nodes > parts)
      return placement.emitError()
             << "splits the tensor-parallel group of ranks " << rank << " to "
             << rank + tp - 1 << " over " << nodes << " nodes, "
             << stringifyPlace(*place) << " allows " << parts;
  int64_t groups = devices.size() / tp;
  size_t fewest = parts > 1 ? groups * parts : fewestNodes(usable, tp, groups);
  size_t used = nodesOf(nodeOf, devices).size();
  if (*place == Place::Pack && used > fewest)
    return placement.emitError()
           << "takes " << used << " nodes, pack allows " << fewest;
  return success();
}
