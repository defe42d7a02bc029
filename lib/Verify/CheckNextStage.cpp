//===- CheckNextStage.cpp - V14: a stage begins where one ended -----------===//

#include "Comparison.h"
#include "dialect/ModelName.h"
#include "etc/Verify/Boundaries.h"

using namespace etc;
using namespace mlir;

/// What the two stages may differ in: their ends, which are compared apart.
static bool isOfOneStage(MigrationOp migration, StringAttr name) {
  return llvm::is_contained(
      {migration.getSymNameAttrName(), migration.getPrevAttrName(),
       migration.getPrevDevicesAttrName(), migration.getCurrDevicesAttrName(),
       migration.getStageAttrName()},
      name);
}

static std::string toText(Attribute attribute) {
  if (!attribute)
    return "absent";
  std::string text;
  llvm::raw_string_ostream(text) << attribute;
  return text;
}

/// Model, cluster and budget are the same.
static LogicalResult checkRequest(const Comparison &comparison,
                                  MigrationOp first, MigrationOp second) {
  if (failed(comparison.words("the model", getModelName(second),
                              getModelName(first))))
    return failure();
  for (auto [migration, other] :
       {std::pair(first, second), std::pair(second, first)})
    for (NamedAttribute field : migration->getAttrs()) {
      const StringAttr name = field.getName();
      if (name == modelNameAttr || isOfOneStage(first, name))
        continue;
      if (first->getAttr(name) != second->getAttr(name))
        return comparison.words(name.getValue(), toText(second->getAttr(name)),
                                toText(first->getAttr(name)));
    }
  return success();
}

/// What the first stage ends with is what the second begins with.
static LogicalResult checkTensors(const Comparison &comparison,
                                  MigrationOp first, MigrationOp second) {
  const ParallelAttr between = first.getCurr();
  auto listOf = [&](MigrationOp migration) {
    return llvm::to_vector(llvm::make_filter_range(
        migration.getOps<TensorOp>(),
        [&](TensorOp tensor) { return tensor.isOn(between); }));
  };
  const SmallVector<TensorOp> ended = listOf(first), begun = listOf(second);
  if (failed(comparison.numbers("tensors",
                                {{".size", static_cast<int64_t>(begun.size()),
                                  static_cast<int64_t>(ended.size())}})))
    return failure();
  for (auto [made, source] : llvm::zip_equal(begun, ended)) {
    NamedAttrList wanted(TensorOp(source)->getAttrDictionary());
    wanted.erase(TensorOp(source).getPrevShapeAttrName());
    DictionaryAttr found = TensorOp(made)->getAttrDictionary(),
                   expected = wanted.getDictionary(first.getContext());
    if (found != expected)
      return comparison.words("a tensor", toText(found), toText(expected));
  }
  return success();
}

LogicalResult etc::verifyNextStage(MigrationOp first, MigrationOp second) {
  const Comparison comparison(second, Rule::NextStage, "the second stage",
                              "the first");
  for (Side side : {Side::Prev, Side::Curr})
    if (second.getParallel(side) != first.getCurr())
      return comparison.words((stringifySide(side) + " configuration").str(),
                              toText(second.getParallel(side)),
                              toText(first.getCurr()));
  if (failed(checkRequest(comparison, first, second)) ||
      failed(checkTensors(comparison, first, second)))
    return failure();
  return comparison.lists("the placement between them",
                          second.getPrevPlacement(),
                          first.getOnly<PlacementOp>().getDevices());
}
