//===- RequestModel.cpp - V13: a migration against the model --------------===//
//
// lib/Model lists tensors module by module. This works the sizes out from the
// model's own, by the architecture, and shares no table with it.
//
//===----------------------------------------------------------------------===//

#include "RequestModel.h"

#include "etc/Request/States.h"

using namespace etc;
using namespace mlir;
using request::ModelSpec;

namespace {
/// A shape as three axes: what is before the one that tensor parallelism cuts,
/// that one, and what is behind it.
using Extents = std::array<int64_t, 3>;

/// What the model's sizes say of a tensor.
struct Expected {
  Extents extents;
  bool isVocab = false; ///< the cut axis is padded on each side
};

class ModelChecker {
public:
  ModelChecker(MigrationOp migration, const request::Request &request,
               const Comparison &comparison)
      : migration(migration), request(request), model(request.model),
        comparison(comparison) {}

  LogicalResult run();

private:
  LogicalResult checkTypes();
  LogicalResult checkType(StateAttr state, const request::State &wanted);
  LogicalResult checkTensor(TensorOp op);
  LogicalResult checkExtents(TensorOp op, const Expected &expected);
  LogicalResult checkLayers(TensorOp op, Span wanted);
  LogicalResult checkMlps();
  LogicalResult checkRow(const request::TensorSpec &row);
  bool hasAllAxes(TensorOp op) const;
  bool isTable() const { return model.family == "table"; }

  MigrationOp migration;
  const request::Request &request;
  const ModelSpec &model;
  const Comparison &comparison;
};
} // namespace

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// An element type as requests call it.
static StringRef nameOf(Type type) {
  if (type.isBF16())
    return "bf16";
  if (type.isF16())
    return "fp16";
  if (type.isF32())
    return "fp32";
  if (type.isF64())
    return "fp64";
  return type.isInteger(64) ? "i64" : type.isInteger(8) ? "u8" : "unknown";
}

LogicalResult ModelChecker::checkType(StateAttr state,
                                      const request::State &wanted) {
  const std::string name = "the type " + state.getName().str();
  if (failed(comparison.words(name, nameOf(state.getDtype()), wanted.dtype)))
    return failure();
  const bool isCast =
      llvm::is_contained(request.types, wanted.derivedFrom.str());
  return comparison.words(
      "the source of " + name,
      state.getDerivedFrom() ? state.getDerivedFrom().getValue() : "none",
      isCast ? wanted.derivedFrom : "none");
}

/// The types of the request in their order; behind them that of buffers, which
/// are no state of the optimizer, where the model has any.
LogicalResult ModelChecker::checkTypes() {
  SmallVector<request::State> wanted;
  for (const request::State &state : request::statesOf(model))
    if (llvm::is_contained(request.types, state.name.str()) &&
        !state.recomputed)
      wanted.push_back(state);
  const bool hasBuffers =
      !isTable() && model.traits.routerBias &&
      (model.experts.denseLayers < model.layers || model.mtpLayers) &&
      model.experts.count && model.ownStates.empty();
  if (hasBuffers && llvm::is_contained(request.types, "param"))
    wanted.push_back({.name = "buffer", .dtype = "fp32"});
  auto made = llvm::to_vector(migration.getTypes().getAsRange<StateAttr>());
  for (size_t i = 0; i < std::max(made.size(), wanted.size()); ++i) {
    StringRef found = "absent", name = found;
    if (i < made.size())
      found = made[i].getName().getValue();
    if (i < wanted.size())
      name = wanted[i].name;
    if (failed(comparison.words("type " + Twine(i), found, name)) ||
        failed(checkType(made[i], wanted[i])))
      return failure();
  }
  return success();
}

/// Whether the states of a tensor have the shape of the parameter, rather than
/// one element a row or a column.
bool ModelChecker::hasAllAxes(TensorOp op) const {
  if (!op.getTypes())
    return true;
  const StringAttr type = cast<StringAttr>((*op.getTypes())[0]);
  return llvm::all_of(request::statesOf(model),
                      [&](const request::State &state) {
                        return state.name != type.getValue() ||
                               state.axes == request::KeptAxes::All;
                      });
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

static Extents extentsOf(ArrayRef<int64_t> shape, int64_t cut) {
  Extents extents = {1, 1, 1};
  for (auto [axis, extent] : llvm::enumerate(shape)) {
    const int64_t place = static_cast<int64_t>(axis) - cut;
    extents[place < 0 ? 0 : place == 0 ? 1 : 2] *= extent;
  }
  return extents;
}

static int64_t roundUp(int64_t number, int64_t multiple) {
  return (number + multiple - 1) / multiple * multiple;
}

LogicalResult ModelChecker::checkExtents(TensorOp op,
                                         const Expected &expected) {
  for (Side side : {Side::Prev, Side::Curr}) {
    ParallelAttr parallel = migration.getParallel(side);
    if (!op.isOn(parallel))
      continue;
    Extents wanted = expected.extents;
    if (expected.isVocab)
      wanted[1] = roundUp(wanted[1], model.vocabMultiple * parallel.getTp());
    if (failed(comparison.lists(
            op.getName() + "." + stringifySide(side) + " extents",
            extentsOf(op.getShapeOn(side), op.getCutAxis()), wanted)))
      return failure();
  }
  return success();
}

LogicalResult ModelChecker::checkLayers(TensorOp op, Span wanted) {
  SmallVector<int64_t> found = {0, static_cast<int64_t>(migration.getLayers())};
  if (auto range = op.getOfLayers())
    found.assign(range->begin(), range->end());
  return comparison.lists(op.getName() + ".layers", found,
                          {wanted.begin, wanted.end});
}

//===----------------------------------------------------------------------===//
// Families
//===----------------------------------------------------------------------===//

/// Whether a name ends in a module and its matrix; grouped experts have their
/// number behind it.
static bool isWeight(TensorOp op, StringRef module) {
  StringRef name = op.getName();
  name.consume_back("{expert}");
  return name.consume_back(".weight") && name.rsplit('.').second == module;
}

/// The inner size of the MLP that a tensor is of.
static int64_t innerSize(TensorOp op, const ModelSpec &model) {
  if (op.isOfExpert())
    return model.experts.ffn;
  return op.getName().contains(".shared_experts.") ? model.experts.sharedFfn
                                                   : model.ffn;
}

/// The matrices that tensor parallelism cuts, by the architecture. The two
/// halves of a gated MLP are cut each.
static std::optional<Expected> expectedOf(TensorOp op, const ModelSpec &model) {
  const int64_t hidden = model.hidden;
  if (isWeight(op, "word_embeddings") || op.getName() == "output_layer.weight")
    return Expected{{1, model.vocab, hidden}, /*isVocab=*/true};
  if (isWeight(op, "linear_fc1"))
    return Expected{{model.traits.gated ? 2 : 1, innerSize(op, model), hidden}};
  if (isWeight(op, "linear_fc2"))
    return Expected{{hidden, innerSize(op, model), 1}};
  if (isWeight(op, "linear_qkv"))
    return Expected{
        {1, (model.heads + 2 * model.keyValueHeads()) * model.channels(),
         hidden}};
  if (isWeight(op, "linear_proj") && !model.traits.latentAttention)
    return Expected{{hidden, model.heads * model.channels(), 1}};
  return std::nullopt;
}

/// A layer has experts or one MLP.
LogicalResult ModelChecker::checkTensor(TensorOp op) {
  if (std::optional<Expected> expected = expectedOf(op, model);
      expected && hasAllAxes(op) && failed(checkExtents(op, *expected)))
    return failure();
  if (op.getPart() != Part::Layer)
    return success();
  const int64_t dense =
      model.experts.count ? model.experts.denseLayers : model.layers;
  const StringRef name = op.getName();
  if (op.isOfExpert() || name.contains(".router.") ||
      name.contains(".shared_experts."))
    return checkLayers(op, {dense, model.layers});
  if (name.contains(".mlp."))
    return checkLayers(op, {0, dense});
  return success();
}

/// Both kinds of MLP are there where layers have them.
LogicalResult ModelChecker::checkMlps() {
  const int64_t dense =
      model.experts.count ? model.experts.denseLayers : model.layers;
  for (auto [what, isOfExpert, layers] :
       {std::tuple("the MLPs of dense layers", false, dense),
        {"the experts", true, model.layers - dense}}) {
    const bool isThere = llvm::any_of(
        migration.getOps<TensorOp>(), [of = isOfExpert](TensorOp op) {
          return op.getPart() == Part::Layer && isWeight(op, "linear_fc2") &&
                 op.isOfExpert() == of &&
                 !op.getName().contains(".shared_experts.");
        });
    if (failed(comparison.words(what, isThere ? "present" : "absent",
                                layers ? "present" : "absent")))
      return failure();
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Tables
//===----------------------------------------------------------------------===//

/// A row has the shape that the request gives, in every type.
LogicalResult ModelChecker::checkRow(const request::TensorSpec &row) {
  const Expected expected = {
      extentsOf(row.shape, std::max<int64_t>(0, row.split)), row.vocabRows};
  bool isThere = false;
  for (TensorOp op : migration.getOps<TensorOp>()) {
    if (op.getName() != row.name ||
        (!row.types.empty() && op.getTypes() &&
         !llvm::is_contained(row.types,
                             cast<StringAttr>((*op.getTypes())[0]).str())))
      continue;
    isThere = true;
    const int64_t split =
        op.getSplit() ? static_cast<int64_t>(*op.getSplit()) : -1;
    if (failed(comparison.words(row.name + ".block",
                                stringifyPart(op.getPart()), row.block)) ||
        failed(comparison.numbers(
            row.name, {{" is split", split >= 0, row.split >= 0}})) ||
        failed(comparison.words(row.name + ".tied_to",
                                op.getTiedTo().value_or(""), row.tiedTo)) ||
        (hasAllAxes(op) && failed(checkExtents(op, expected))) ||
        (op.getPart() == Part::Layer &&
         failed(checkLayers(op, row.layers.value_or(Span{0, model.layers})))))
      return failure();
  }
  // A copy is no tensor where it is on no side.
  return row.tiedTo.empty()
             ? comparison.words(row.name, isThere ? "present" : "absent",
                                "present")
             : success();
}

LogicalResult ModelChecker::run() {
  if (failed(checkTypes()))
    return failure();
  // Inventories list types apart, with the shapes that they hold.
  if (request.prev.inventory || request.curr.inventory)
    return success();
  if (isTable())
    return success(
        llvm::all_of(model.tensors, [&](const request::TensorSpec &row) {
          return succeeded(checkRow(row));
        }));
  if (failed(comparison.numbers(
          "", {{"vocab", static_cast<int64_t>(migration.getVocab().value_or(0)),
                model.vocab}})))
    return failure();
  for (TensorOp op : migration.getOps<TensorOp>())
    if (failed(checkTensor(op)))
      return failure();
  return checkMlps();
}

LogicalResult etc::checkRequestModel(MigrationOp migration,
                                     const request::Request &request,
                                     const Comparison &comparison) {
  return ModelChecker(migration, request, comparison).run();
}
