//===- FileTensors.cpp - V12: the tensors of a plan file ------------------===//

#include "FileTensors.h"

#include "dialect/NameMarks.h"
#include "etc/Geometry.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace etc;
using namespace mlir;
namespace fb = etc::plan::fb;

namespace {
class TensorChecker {
public:
  TensorChecker(MigrationOp migration, const fb::Plan &plan,
                const Comparison &comparison)
      : migration(migration), plan(plan), comparison(comparison) {}

  LogicalResult run();

private:
  LogicalResult checkTensor(const Twine &name, const fb::Tensor &tensor,
                            TensorOp op, StateAttr state);
  LogicalResult checkTie(const Twine &name, const fb::Tensor &tensor,
                         TensorOp primary) const;
  LogicalResult checkSource(const Twine &name, const fb::Tensor &tensor,
                            TensorOp op, StateAttr state);
  LogicalResult checkCounts();
  TensorOp find(StringRef name, StringRef type) const;

  MigrationOp migration;
  const fb::Plan &plan;
  const Comparison &comparison;
  /// The templates of a name; several where types differ in shape.
  llvm::StringMap<SmallVector<TensorOp, 1>> tensors;
  int64_t sources = 0; ///< tensors of the file that name what they are cast of
};
} // namespace

static bool hasType(TensorOp op, StringRef type) {
  return !op.getTypes() ||
         llvm::any_of(op.getTypes()->getAsValueRange<StringAttr>(),
                      [&](StringRef name) { return name == type; });
}

/// Whether elements of the type are what a plan file calls so.
static bool isOf(Type type, fb::DType dtype) {
  switch (dtype) {
  case fb::DType::bf16:
    return type.isBF16();
  case fb::DType::fp16:
    return type.isF16();
  case fb::DType::fp32:
    return type.isF32();
  case fb::DType::fp64:
    return type.isF64();
  case fb::DType::i64:
    return type.isInteger(64);
  case fb::DType::u8:
    return type.isInteger(8);
  }
  return false;
}

TensorOp TensorChecker::find(StringRef name, StringRef type) const {
  auto it = tensors.find(name);
  if (it == tensors.end())
    return nullptr;
  auto op =
      llvm::find_if(it->second, [&](TensorOp op) { return hasType(op, type); });
  return op != it->second.end() ? *op : nullptr;
}

/// `target`, with the numbers that `name` has in place of its pattern's marks.
static std::string likewise(StringRef target, StringRef pattern,
                            StringRef name) {
  std::string result = target.str();
  while (!pattern.empty()) {
    StringRef mark;
    for (StringRef one : {layerMark, expertMark})
      if (pattern.starts_with(one))
        mark = one;
    if (mark.empty()) {
      pattern = pattern.drop_front();
      name = name.drop_front();
      continue;
    }
    const StringRef number = name.take_while(llvm::isDigit);
    if (size_t at = result.find(mark.str()); at != std::string::npos)
      result.replace(at, mark.size(), number.str());
    pattern = pattern.drop_front(mark.size());
    name = name.drop_front(number.size());
  }
  return result;
}

static StringRef toRef(const flatbuffers::String *text) {
  return {text->c_str(), text->size()};
}

static std::string nameOf(const fb::Tensor &tensor) {
  return tensor.name()->str() + " of " + tensor.type()->str();
}

/// A tied copy names its twin, in the same type.
LogicalResult TensorChecker::checkTie(const Twine &name,
                                      const fb::Tensor &tensor,
                                      TensorOp primary) const {
  if (!primary && tensor.tied_to() < 0)
    return success();
  std::string wanted = "none", found = wanted;
  if (primary)
    wanted = likewise(primary.getName(),
                      tensor.pattern() < 0
                          ? StringRef()
                          : toRef(plan.patterns()->Get(tensor.pattern())),
                      toRef(tensor.name())) +
             " of " + tensor.type()->str();
  if (tensor.tied_to() >= 0)
    found = nameOf(*plan.tensors()->Get(tensor.tied_to()));
  return comparison.words(name + ".tied_to", found, wanted);
}

/// What a tensor is a cast of is the same one in another type. That no source
/// is left out shows when they are counted.
LogicalResult TensorChecker::checkSource(const Twine &name,
                                         const fb::Tensor &tensor, TensorOp op,
                                         StateAttr state) {
  const StringAttr source = state.getDerivedFrom();
  const bool isDerived = source && !migration.getDeriveNone() &&
                         migration.lookupType(source) &&
                         hasType(op, source.getValue());
  if (failed(comparison.numbers(
          name, {{".is_derived", tensor.is_derived(), isDerived}})))
    return failure();
  if (tensor.derived_from() < 0)
    return success();
  ++sources;
  const fb::Tensor &origin = *plan.tensors()->Get(tensor.derived_from());
  if (source && source == toRef(origin.type()) &&
      toRef(origin.name()) == toRef(tensor.name()))
    return success();
  return comparison.words(name + ".derived_from", nameOf(origin),
                          source ? tensor.name()->str() + " of " + source.str()
                                 : "none");
}

LogicalResult TensorChecker::checkTensor(const Twine &name,
                                         const fb::Tensor &tensor, TensorOp op,
                                         StateAttr state) {
  const unsigned type = *migration.lookupType(state.getName());
  if (failed(comparison.numbers(name, {{".deferred", tensor.deferred(),
                                        migration.isDeferred(type)}})))
    return failure();
  if (!isOf(state.getDtype(), tensor.dtype())) {
    std::string wanted;
    llvm::raw_string_ostream(wanted) << state.getDtype();
    return comparison.words(name, fb::EnumNameDType(tensor.dtype()), wanted);
  }
  TensorOp primary;
  if (op.getTiedTo())
    primary = find(*op.getTiedTo(), state.getName());
  if (failed(checkTie(name, tensor, primary)) ||
      failed(checkSource(name, tensor, op, state)))
    return failure();
  // A tied copy has the shapes of what it is a copy of.
  if (primary)
    op = primary;
  const SmallVector<int64_t> shape = numbersOf(tensor.shape()),
                             prev = numbersOf(tensor.prev_shape());
  if (failed(comparison.lists(name + ".shape", shape, op.getShape())) ||
      failed(comparison.lists(name + ".prev_shape", prev.empty() ? shape : prev,
                              op.getShapeOn(Side::Prev))))
    return failure();
  return comparison.lists(name + ".view", numbersOf(tensor.view()),
                          op.getView().value_or(ArrayRef<int64_t>()));
}

/// The layers and experts for which there is a tensor of each of `ops`.
static int64_t countInstances(MigrationOp migration, ArrayRef<TensorOp> ops) {
  Span layers = {0, static_cast<int64_t>(migration.getLayers())};
  for (TensorOp op : ops)
    if (auto range = op.getOfLayers())
      layers = {std::max(layers.begin, (*range)[0]),
                std::min(layers.end, (*range)[1])};
  TensorOp first = ops.front();
  const int64_t experts =
      first.isOfExpert() ? migration.getExperts().value_or(1) : 1;
  return first.getPart() == Part::Layer
             ? std::max<int64_t>(0, layers.size()) * experts
             : experts;
}

/// One of each layer and expert, and of each of its types; those that are casts
/// name their source where there is one.
LogicalResult TensorChecker::checkCounts() {
  int64_t count = 0, casts = 0;
  for (TensorOp op : migration.getOps<TensorOp>()) {
    if (!op.isOn(migration.getPrev()) && !op.isOn(migration.getCurr()))
      continue;
    const int64_t instances = countInstances(migration, op);
    for (StateAttr state : migration.getTypes().getAsRange<StateAttr>()) {
      if (!hasType(op, state.getName()))
        continue;
      count += instances;
      if (StringAttr source = state.getDerivedFrom();
          source && migration.lookupType(source))
        for (TensorOp other : tensors.lookup(op.getName()))
          if (hasType(other, source))
            casts += countInstances(migration, {op, other});
    }
  }
  return comparison.numbers(
      "tensors",
      {{".size", static_cast<int64_t>(plan.tensors()->size()), count},
       {" with derived_from", sources, casts}});
}

LogicalResult TensorChecker::run() {
  for (TensorOp op : migration.getOps<TensorOp>())
    tensors[op.getName()].push_back(op);
  llvm::StringMap<StateAttr> states;
  for (StateAttr state : migration.getTypes().getAsRange<StateAttr>())
    states[state.getName()] = state;
  for (const fb::Tensor *tensor : *plan.tensors()) {
    const StringRef type = toRef(tensor->type());
    StateAttr state = states.lookup(type);
    TensorOp op = find(toRef(tensor->pattern() < 0
                                 ? tensor->name()
                                 : plan.patterns()->Get(tensor->pattern())),
                       type);
    if (!state || !op)
      return comparison.words(nameOf(*tensor), "a tensor", "none");
    if (failed(checkTensor(toRef(tensor->name()) + " of " + type, *tensor, op,
                           state)))
      return failure();
  }
  return checkCounts();
}

LogicalResult etc::checkFileTensors(MigrationOp migration, const fb::Plan &plan,
                                    const Comparison &comparison) {
  return TensorChecker(migration, plan, comparison).run();
}
