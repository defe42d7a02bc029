//===- CheckInventory.cpp - Whether an inventory says each thing once -----===//

#include "Reader.h"
#include "etc/Request/Inventory.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <optional>

using namespace etc;
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
      for (int64_t tensor : inventory.shards[shard].tensors) {
        auto [entry, isNew] = shardOf.try_emplace(tensor, shard);
        if (isNew)
          continue;
        Input has = valueOf(elementOf(devices, number), "has");
        Field field = elementOf(has, position).field;
        if (entry->second == shard)
          return malformed(field, "shard " + Twine(shard) +
                                      " is listed twice; list every shard "
                                      "once");
        return malformed(field, "shard " + Twine(shard) + " is of tensor " +
                                    Twine(tensor) + ", and so is shard " +
                                    Twine(entry->second) +
                                    "; make one shard of their boxes");
      }
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
