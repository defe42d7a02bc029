//===- InventoryModel.cpp - The model that two inventories are of ---------===//
//
// Where both sides are inventories, their tables say all that planning needs:
// names, types, shapes and dtypes. A request then needs no model.
//
//===----------------------------------------------------------------------===//

#include "Checks.h"
#include "Scalars.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <set>

using namespace etc::request;
using llvm::Error;
using llvm::StringRef;

/// The axis that a planning shape is seen from: with one axis before it and one
/// behind it, a box of three axes is one box of a plan.
static int64_t middleAxis(const std::vector<int64_t> &shape) {
  return shape.size() > 2 ? 1 : 0;
}

namespace {
/// Collects rows in the order in which tensors are listed first.
class Collector {
public:
  void add(const Inventory &inventory);
  void store(ModelSpec &model);

private:
  ModelSpec found;
  llvm::StringMap<size_t> rows; ///< by name and shape
  std::set<std::pair<std::string, std::string>> seen;
};
} // namespace

void Collector::add(const Inventory &inventory) {
  for (const Inventory::Tensor &tensor : inventory.tensors) {
    if (!seen.insert({tensor.name, tensor.type}).second)
      continue;
    std::string key = tensor.name;
    for (int64_t extent : tensor.shape)
      key += " " + std::to_string(extent);
    auto [row, isNew] = rows.try_emplace(key, found.tensors.size());
    if (isNew) {
      TensorSpec &spec = found.tensors.emplace_back();
      spec.name = tensor.name;
      spec.block = "embed";
      spec.shape = tensor.shape;
      spec.split = middleAxis(tensor.shape);
    }
    found.tensors[row->second].types.push_back(tensor.type);
    if (llvm::none_of(found.ownStates, [&](const auto &state) {
          return state.first == tensor.type;
        }))
      found.ownStates.emplace_back(tensor.type, tensor.dtype);
  }
}

void Collector::store(ModelSpec &model) {
  model.family = "table";
  model.traits = Traits();
  model.layers = 1;
  model.tensors = std::move(found.tensors);
  model.ownStates = std::move(found.ownStates);
}

void etc::request::adoptInventories(Request &request) {
  const Inventory *prev = request.prev.inventory.get(),
                  *curr = request.curr.inventory.get();
  ModelSpec &model = request.model;
  // An option may have replaced the side that it came from.
  if (!model.ownStates.empty())
    std::tie(model.layers, model.tensors, model.ownStates) =
        std::tuple(0, std::vector<TensorSpec>(), ModelSpec().ownStates);
  if (!prev || !curr || model.layers || model.hidden || !model.tensors.empty())
    return;
  Collector collector;
  collector.add(*prev);
  collector.add(*curr);
  collector.store(model);
}

static Error checkDTypes(const ModelSpec &model, const SideSpec &side,
                         StringRef name) {
  static constexpr StringRef known[] = {"bf16", "fp16", "fp32",
                                        "fp64", "i64",  "u8"};
  const Field field = fieldAt(side.where, name);
  for (const Inventory::Tensor &tensor : side.inventory->tensors) {
    const std::string label = "'" + tensor.name + "' (" + tensor.type + ")";
    if (!llvm::is_contained(known, tensor.dtype))
      return malformed(field, label + " has " +
                                  (tensor.dtype.empty()
                                       ? "no dtype"
                                       : "the dtype \"" + tensor.dtype + "\"") +
                                  "; expected one of " +
                                  llvm::join(llvm::ArrayRef(known), ", "));
    for (const auto &[type, dtype] : model.ownStates)
      if (type == tensor.type && dtype != tensor.dtype)
        return malformed(field, label + " is " + tensor.dtype +
                                    ", other tensors of the type are " + dtype +
                                    "; give it a type of its own");
  }
  return Error::success();
}

Error etc::request::checkInventoryModel(const Request &request,
                                        const SideSpec &side, StringRef name) {
  if (request.model.ownStates.empty() || !side.inventory)
    return Error::success();
  return checkDTypes(request.model, side, name);
}
