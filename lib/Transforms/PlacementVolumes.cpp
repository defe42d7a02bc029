//===- PlacementVolumes.cpp - What a placement would move -----------------===//

#include "etc/Transforms/PlacementVolumes.h"

#include "etc/Analysis/Fragments.h"
#include "etc/Analysis/MigrationFleet.h"

#include "llvm/ADT/BitVector.h"

using namespace etc;
using namespace mlir;

namespace {
/// What the devices of every node hold.
class NodeHolders {
public:
  NodeHolders(const Devices &devices, const Holdings &prev)
      : roles(devices.getNodeCount(), llvm::BitVector(prev.size())),
        pools(devices.getNodeCount(), llvm::BitVector(prev.getPools())) {
    for (int64_t device = 0; device < devices.size(); ++device)
      if (int64_t role = devices.getPrevRole(device); role >= 0) {
        roles[devices.getNode(device)].set(role);
        pools[devices.getNode(device)].set(prev.getPool(role));
      }
  }
  bool hold(int64_t node, const Fragment &fragment) const {
    return llvm::any_of(fragment.holders, [&](Holder holder) {
      return (holder.isPool ? pools : roles)[node].test(holder.number);
    });
  }

private:
  SmallVector<llvm::BitVector> roles, pools; ///< [node]
};
} // namespace

struct PlacementVolumes::Tables {
  explicit Tables(MigrationOp migration)
      : curr(migration.getCurr()), table(migration),
        prevHeld(migration, table, Side::Prev),
        currHeld(migration, table, Side::Curr), devices(migration),
        needs(table, prevHeld, currHeld), fleet(migration),
        fragments(table, prevHeld, fleet), nodes(devices, prevHeld) {}

  ParallelAttr curr;
  TensorTable table;
  Holdings prevHeld, currHeld;
  Devices devices;
  NeedsTable needs;
  MigrationFleet fleet;
  FragmentTable fragments;
  NodeHolders nodes;
};

PlacementVolumes::PlacementVolumes(MigrationOp migration)
    : tables(std::make_unique<Tables>(migration)) {}

PlacementVolumes::~PlacementVolumes() = default;

std::optional<Volumes> PlacementVolumes::of(ArrayRef<int64_t> placement) {
  auto &[curr, table, prevHeld, currHeld, devices, needs, fleet, fragments,
         nodes] = *tables;
  Volumes volumes;
  for (auto [rank, device] : llvm::enumerate(placement)) {
    std::optional<NeedsTable::Parts> parts =
        needs.get(placeOfRank(curr, rank).role, devices.getPrevRole(device));
    if (!parts)
      return std::nullopt;
    int64_t received = 0;
    for (const Needs *wanted : *parts)
      for (const Fragment &fragment :
           fragments.get(*wanted, devices.getNode(device))) {
        received += fragment.bytes;
        if (!nodes.hold(devices.getNode(device), fragment))
          volumes.internode += fragment.bytes;
      }
    volumes.moved += received;
    volumes.maxRecv = std::max(volumes.maxRecv, received);
  }
  return volumes;
}
