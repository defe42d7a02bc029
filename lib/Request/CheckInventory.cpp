//===- CheckInventory.cpp - Whether an inventory says each thing once -----===//

#include "Reader.h"
#include "etc/Request/Inventory.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <numeric>
#include <optional>

using namespace etc::request;
using namespace etc::request::json;
using llvm::Error;
using llvm::StringRef;
using llvm::Twine;

static const Member *findMember(const Input &object, StringRef key) {
  auto found = llvm::find_if(object.node.members, [&](const Member &entry) {
    return entry.key == key;
  });
  return found == object.node.members.end() ? nullptr : &*found;
}

/// A member that has been read.
static Input valueOf(const Input &object, StringRef key) {
  return memberOf(object, *findMember(object, key));
}

static Error checkTensors(const Inventory &inventory, const Input &tensors) {
  llvm::DenseSet<std::pair<StringRef, StringRef>> seen;
  for (auto [number, tensor] : llvm::enumerate(inventory.tensors))
    if (!seen.insert({tensor.name, tensor.type}).second)
      return malformed(elementOf(tensors, number).field,
                       "\"" + tensor.name + "\" (" + tensor.type +
                           ") is listed twice; list every tensor once");
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

using Boxes = std::vector<Inventory::Box>;

static bool overlap(const Inventory::Box &a, const Inventory::Box &b) {
  for (size_t axis = 0; axis < a.size(); ++axis)
    if (std::max(a[axis].first, b[axis].first) >=
        std::min(a[axis].second, b[axis].second))
      return false;
  return true;
}

/// The axis on which the boxes begin in most places: in its order, each box
/// reaches few others.
static size_t widestAxis(const Boxes &boxes) {
  size_t widest = 0, most = 0;
  for (size_t axis = 0; axis < boxes.front().size(); ++axis) {
    llvm::DenseSet<int64_t> begins;
    for (const Inventory::Box &box : boxes)
      begins.insert(box[axis].first);
    if (begins.size() > most)
      std::tie(widest, most) = std::pair(axis, begins.size());
  }
  return widest;
}

/// Two boxes of one tensor that share elements, the earlier one first.
static std::optional<std::pair<size_t, size_t>>
findOverlap(const Boxes &boxes) {
  if (boxes.empty() || boxes.front().empty())
    return std::nullopt;
  const size_t axis = widestAxis(boxes);
  auto range = [&](size_t box) { return boxes[box][axis]; };
  std::vector<size_t> order(boxes.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::stable_sort(order, [&](size_t a, size_t b) {
    return range(a).first < range(b).first;
  });
  for (size_t i = 0; i < order.size(); ++i)
    for (size_t j = i + 1;
         j < order.size() && range(order[j]).first < range(order[i]).second;
         ++j)
      if (overlap(boxes[order[i]], boxes[order[j]]))
        return std::minmax(order[i], order[j]);
  return std::nullopt;
}

static Error checkShards(const Inventory &inventory, const Input &shards) {
  for (auto [number, shard] : llvm::enumerate(inventory.shards))
    if (auto found = findOverlap(shard.boxes)) {
      Input boxes = valueOf(elementOf(shards, number), "boxes");
      return malformed(elementOf(boxes, found->second).field,
                       "overlaps box " + Twine(found->first) +
                           "; the boxes of a shard must be disjoint");
    }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

static Error checkDevices(const Inventory &inventory, const Input &devices) {
  for (auto [number, device] : llvm::enumerate(inventory.devices)) {
    llvm::DenseMap<int64_t, int64_t> shardOf;
    for (auto [position, shard] : llvm::enumerate(device.has)) {
      int64_t tensor = inventory.shards[shard].tensor;
      auto [entry, isNew] = shardOf.try_emplace(tensor, shard);
      if (isNew)
        continue;
      Input has = valueOf(elementOf(devices, number), "has");
      Field field = elementOf(has, position).field;
      if (entry->second == shard)
        return malformed(field, "shard " + Twine(shard) +
                                    " is listed twice; list every shard once");
      return malformed(field, "shard " + Twine(shard) + " is of tensor " +
                                  Twine(tensor) + ", and so is shard " +
                                  Twine(entry->second) +
                                  "; make one shard of their boxes");
    }
  }
  return Error::success();
}

Error json::checkInventory(const Inventory &inventory, const Input &input) {
  if (Error error = checkTensors(inventory, valueOf(input, "tensors")))
    return error;
  if (Error error = checkShards(inventory, valueOf(input, "shards")))
    return error;
  return checkDevices(
      inventory,
      valueOf(input, findMember(input, "roles") ? "roles" : "devices"));
}
