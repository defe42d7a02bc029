//===- Fleet.cpp - Which devices hold what --------------------------------===//

#include "etc/Optimize/Sources/Fleet.h"

#include "llvm/ADT/STLExtras.h"

using namespace etc;

/// Adds to list `number`, which may be the first of its number.
static void addTo(std::vector<llvm::SmallVector<int64_t>> &lists,
                  int64_t number, int64_t device) {
  if (number >= std::ssize(lists))
    lists.resize(number + 1);
  lists[number].push_back(device);
}

Fleet::Fleet(std::vector<Device> all, bool hasRanges)
    : devices(std::move(all)), ranges(hasRanges),
      onNode(devices.empty() ? 0 : devices.back().node + 1) {
  for (auto [number, device] : llvm::enumerate(devices))
    if (device.role >= 0) {
      addTo(onNode, device.node, number);
      addTo(ofRole, device.role, number);
      addTo(ofPool, device.pool, number);
    }
}

bool Fleet::holds(const Fragment &fragment, int64_t device) const {
  const Device &its = devices[device];
  return llvm::binary_search(fragment.holders, Holder{true, its.pool}) ||
         llvm::binary_search(fragment.holders, Holder{false, its.role});
}

llvm::SmallVector<int64_t>
Fleet::findHolders(llvm::ArrayRef<Holder> holders) const {
  llvm::SmallVector<int64_t> found;
  for (Holder holder : holders) {
    const auto &lists = holder.isPool ? ofPool : ofRole;
    if (holder.number < std::ssize(lists))
      llvm::append_range(found, lists[holder.number]);
  }
  return found;
}
