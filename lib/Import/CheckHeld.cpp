//===- CheckHeld.cpp - Whether a file is of the request's model -----------===//

#include "CheckHeld.h"

#include "core/plan/PlanFile.h"
#include "etc/Request/Inventory.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringMap.h"

using namespace etc;
using namespace mlir;

namespace {
struct HeldTensor {
  std::string dtype; ///< empty: unknown
  std::vector<int64_t> shape;
};

/// By name and type, with a space between.
using HeldTensors = llvm::StringMap<HeldTensor>;

class HeldChecker {
public:
  HeldChecker(Location loc, const model::Model &model,
              const request::SideSpec &side)
      : loc(loc), model(model), side(side) {}

  LogicalResult run();

private:
  LogicalResult checkVocab();
  LogicalResult check(const model::TensorTemplate &tensor,
                      const model::StateType &type, llvm::StringRef name);
  std::vector<int64_t> shapeOf(const model::TensorTemplate &tensor) const;
  bool hasShape(const model::TensorTemplate &tensor,
                const HeldTensor &found) const;
  LogicalResult refuse(const llvm::Twine &what) const {
    return emitError(loc) << what
                          << "; both must be of one model and precision";
  }

  Location loc;
  const model::Model &model;
  const request::SideSpec &side;
  HeldTensors held;
};
} // namespace

static HeldTensors tensorsOf(const plan::fb::Plan &plan) {
  HeldTensors held;
  for (const auto *tensor : *plan.tensors())
    held[tensor->name()->str() + " " + tensor->type()->str()] = {
        plan::fb::EnumNameDType(tensor->dtype()),
        {tensor->shape()->begin(), tensor->shape()->end()}};
  return held;
}

static HeldTensors tensorsOf(const request::Inventory &inventory) {
  HeldTensors held;
  for (const request::Inventory::Tensor &tensor : inventory.tensors)
    held[tensor.name + " " + tensor.type] = {tensor.dtype, tensor.shape};
  return held;
}

static std::string describe(llvm::ArrayRef<int64_t> shape) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::interleave(shape, os, "x");
  return text;
}

/// How an inventory's side was padded, nobody knows.
std::vector<int64_t>
HeldChecker::shapeOf(const model::TensorTemplate &tensor) const {
  return side.inventory ? tensor.shape : model::shapeOn(tensor, side.parallel);
}

bool HeldChecker::hasShape(const model::TensorTemplate &tensor,
                           const HeldTensor &found) const {
  std::vector<int64_t> wanted = shapeOf(tensor);
  if (side.inventory && tensor.vocabRows && found.shape.size() == wanted.size())
    wanted.front() = found.shape.front();
  return wanted == found.shape;
}

LogicalResult HeldChecker::check(const model::TensorTemplate &tensor,
                                 const model::StateType &type,
                                 llvm::StringRef name) {
  std::string file = side.planned ? "the plan" : "the inventory",
              label = "'" + name.str() + "' (" + type.name + ")";
  auto it = held.find((name + " " + type.name).str());
  if (it == held.end())
    return side.planned && model::existsOn(tensor, side.parallel)
               ? refuse(file + " has no " + label + ", which the request has")
               : success();
  const HeldTensor &found = it->second;
  if (!hasShape(tensor, found))
    return refuse(file + " has " + label + " of " + describe(found.shape) +
                  ", the request of " + describe(shapeOf(tensor)));
  llvm::StringRef dtype = model::dtypeName(type.dtype);
  if (!found.dtype.empty() && found.dtype != dtype)
    return refuse(file + " has " + label + " in " + found.dtype +
                  ", the request in " + dtype);
  return success();
}

/// Vocabularies of several sizes may be padded to the same rows.
LogicalResult HeldChecker::checkVocab() {
  const int64_t planned = side.planned->plan().vocab(),
                wanted = model::vocabOf(model);
  if (planned == wanted || planned == 0 || wanted == 0)
    return success();
  return refuse("the plan is of a vocabulary of " + std::to_string(planned) +
                ", the request of " + std::to_string(wanted));
}

LogicalResult HeldChecker::run() {
  if (!side.planned && !side.inventory)
    return success();
  held = side.planned ? tensorsOf(side.planned->plan())
                      : tensorsOf(*side.inventory);
  LogicalResult result = side.planned ? checkVocab() : success();
  for (const model::TensorTemplate &tensor : model.tensors)
    for (const model::StateType &type : model.types)
      if (model.isOf(tensor, type.name))
        model::forInstances(tensor, model, [&](int64_t layer, int64_t expert) {
          if (succeeded(result))
            result =
                check(tensor, type, model::tensorName(tensor, layer, expert));
        });
  return result;
}

LogicalResult etc::checkHeld(Location loc, const model::Model &model,
                             const request::SideSpec &side) {
  return HeldChecker(loc, model, side).run();
}
