//===- PaperSketch.cpp - Algorithm 1 --------------------------------------===//

#include "PaperSketch.h"

#include "etc/Optimize/Assignment/Dense.h"

using namespace etc;
using namespace mlir;

PaperSketch etc::solvePaperSketch(int64_t rows, int64_t columns,
                                  ArrayRef<int64_t> costs) {
  int64_t size = std::max(rows, columns);
  SmallVector<int64_t> padded(size * size, 0);
  for (int64_t row = 0; row < rows; ++row)
    llvm::copy(costs.slice(row * columns, columns),
               padded.begin() + row * size);
  std::vector<int64_t> pairs =
      assignment::solveDense(size, {padded.data(), padded.size()});
  PaperSketch sketch(pairs.begin(), pairs.begin() + rows);
  for (int64_t &column : sketch)
    column = column < columns ? column : -1;
  return sketch;
}

SmallVector<int64_t> etc::placePaperSketch(MigrationOp migration,
                                           const Devices &devices,
                                           const PaperSketch &sketch) {
  ParallelAttr prev = migration.getPrev(), curr = migration.getCurr();
  SmallVector<int64_t> prevDevices = migration.getPrevPlacement();
  SmallVector<int64_t> placement(curr.getWorld(), -1);
  for (auto [role, prevRole] : llvm::enumerate(sketch))
    for (int64_t group = 0;
         prevRole >= 0 && group < std::min(prev.getDp(), curr.getDp());
         ++group) {
      int64_t device = prevDevices[rankOfPlace(prev, {prevRole, group})];
      if (devices.isUsable(device))
        placement[rankOfPlace(curr, {static_cast<int64_t>(role), group})] =
            device;
    }
  return placement;
}

bool etc::placeUnpaired(const Devices &devices,
                        MutableArrayRef<int64_t> placement) {
  llvm::BitVector taken(devices.size());
  for (int64_t device : placement)
    if (device >= 0)
      taken.set(device);
  int64_t next = 0;
  for (int64_t &device : placement) {
    if (device >= 0)
      continue;
    while (next < devices.size() &&
           (taken.test(next) || !devices.isUsable(next)))
      ++next;
    if (next == devices.size())
      return false;
    device = next++;
  }
  return true;
}
