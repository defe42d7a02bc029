//===- Inventory.h - Who holds what -----------------------------*- C++ -*-===//
//
// What is left after a failure, or any layout that no configuration describes,
// as the state before or as the one wanted: the tables of a plan, and who holds
// which shards. docs/inventory-format.md has the format.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_REQUEST_INVENTORY_H
#define ETC_REQUEST_INVENTORY_H

#include "etc/Geometry.h"
#include "etc/Request/Diagnostic.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace etc::request {

struct Inventory {
  struct Tensor {
    std::string name, type; ///< the global name, a state type
    std::string dtype;      ///< "bf16", ...; empty where it does not say
    /// The planning shape, in elements, and that of the side before where they
    /// differ (a vocabulary padded per side), or empty.
    std::vector<int64_t> shape, prevShape;

    /// Positions on an axis, of the larger side.
    int64_t getExtent(size_t axis) const {
      return axis < prevShape.size() ? std::max(shape[axis], prevShape[axis])
                                     : shape[axis];
    }
  };
  struct Shard {
    /// At least one, all with these boxes: a shard of each.
    std::vector<int64_t> tensors;
    std::vector<Box> boxes; ///< disjoint
  };
  /// A device, or a role whose device the planner may choose.
  struct Device {
    int64_t device = -1;      ///< -1: any
    std::vector<int64_t> has; ///< shards, at most one of a tensor
  };

  std::vector<Tensor> tensors;
  std::vector<Shard> shards;
  /// One for each role; where the inventory lists devices, one for each of
  /// these, ascending.
  std::vector<Device> devices;

  /// The device of every role; nothing where the planner chooses.
  std::optional<std::vector<int64_t>> getDevices() const;
};

/// Parses an inventory; `fileName` is what messages call it. It is Malformed
/// where it refers to what is not there, lists a tensor, or an element of a
/// device, twice, or has boxes outside of their tensors.
llvm::Expected<Inventory> parseInventory(llvm::StringRef text,
                                         llvm::StringRef fileName);

/// The same from a file; `field` is what names the file in the request.
llvm::Expected<Inventory> readInventory(llvm::StringRef path,
                                        const Field &field);

} // namespace etc::request

#endif // ETC_REQUEST_INVENTORY_H
