//===- Import.cpp - A request becomes IR ----------------------------------===//

#include "etc/Import/Import.h"

#include "CheckHeld.h"
#include "CheckTarget.h"
#include "ImportInventory.h"
#include "dialect/Limits.h"
#include "dialect/Reserve.h"
#include "dialect/Verifiers.h"
#include "etc/Model/Model.h"
#include "etc/Request/Fields.h"
#include "etc/Request/States.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace etc;
using namespace mlir;

/// In the file, or the option of the field's name.
static Location toLocation(OpBuilder &builder, StringRef field,
                           const request::SourceLocation &where) {
  if (where.isCommandLine()) {
    std::string option = "--" + field.str();
    std::replace(option.begin(), option.end(), '_', '-');
    return NameLoc::get(builder.getStringAttr(option));
  }
  return FileLineColLoc::get(builder.getStringAttr(where.file), where.line,
                             where.column);
}

/// Where the request begins and where it has each of its fields, so that an
/// error can point at the one that asked.
static Location toLocation(OpBuilder &builder,
                           const request::Request &request) {
  // A side or a model may come from the arguments of a training script.
  SmallVector<std::pair<StringRef, const request::SourceLocation *>> fields = {
      {"model", &request.model.where},
      {"prev", &request.prev.where},
      {"prev.devices", &request.prev.devicesWhere},
      {"curr", &request.curr.where},
      {"curr.devices", &request.curr.devicesWhere},
  };
  for (const request::RequestField &field : request::requestFields())
    if (request.isGiven(field.name) && !field.isOfModel() &&
        !llvm::is_contained({"model", "prev", "curr"}, field.name))
      fields.emplace_back(field.name, &request.whereOf(field.name));
  SmallVector<Location> parts = {
      request.where.isCommandLine()
          ? NameLoc::get(builder.getStringAttr("command line"))
          : toLocation(builder, "", request.where)};
  for (auto [name, where] : fields)
    if (!where->file.empty())
      parts.push_back(NameLoc::get(builder.getStringAttr(name),
                                   toLocation(builder, name, *where)));
  return FusedLoc::get(builder.getContext(), parts);
}

static Type toType(OpBuilder &builder, model::DType dtype) {
  switch (dtype) {
  case model::DType::BF16:
    return builder.getBF16Type();
  case model::DType::FP16:
    return builder.getF16Type();
  case model::DType::FP32:
    return builder.getF32Type();
  case model::DType::FP64:
    return builder.getF64Type();
  case model::DType::I64:
    return builder.getI64Type();
  case model::DType::U8:
    return builder.getI8Type();
  }
  llvm_unreachable("unknown dtype");
}

static ArrayAttr toStates(OpBuilder &builder, const model::Model &model) {
  SmallVector<Attribute> states;
  for (const model::StateType &type : model.types) {
    StringAttr source;
    if (!type.derivedFrom.empty())
      source = builder.getStringAttr(type.derivedFrom);
    states.push_back(StateAttr::get(builder.getContext(),
                                    builder.getStringAttr(type.name),
                                    toType(builder, type.dtype), source));
  }
  return builder.getArrayAttr(states);
}

/// A list that says something, or no attribute.
static DenseI64ArrayAttr toList(OpBuilder &builder, ArrayRef<int64_t> values) {
  return values.empty() ? DenseI64ArrayAttr()
                        : builder.getDenseI64ArrayAttr(values);
}

static DenseI64ArrayAttr
toOptionalList(OpBuilder &builder,
               const std::optional<std::vector<int64_t>> &values) {
  return values ? builder.getDenseI64ArrayAttr(*values) : DenseI64ArrayAttr();
}

static ParallelAttr toParallel(OpBuilder &builder,
                               const request::Parallelism &parallel,
                               bool inventory) {
  return ParallelAttr::get(
      builder.getContext(), parallel.pp, parallel.tp, parallel.dp, parallel.cp,
      parallel.ep, parallel.expertTp(), parallel.vpp, parallel.stages,
      parallel.mtpStage, parallel.order == request::RankOrder::TpCpEpPpDp,
      parallel.distributedOptimizer, parallel.bucketElements(), inventory,
      parallel.fsdp);
}

static Part toPart(model::Block block) {
  switch (block) {
  case model::Block::Embed:
    return Part::Embed;
  case model::Block::Layer:
    return Part::Layer;
  case model::Block::Final:
    return Part::Final;
  case model::Block::Head:
    return Part::Head;
  case model::Block::Mtp:
    return Part::Mtp;
  }
  llvm_unreachable("unknown block");
}

/// `any` is what an absent attribute means. The paper's policy has a way of its
/// own to defragment, afterwards.
static PlaceAttr toPlace(OpBuilder &builder, const request::Request &request) {
  std::optional<Place> value = symbolizePlace(request.place);
  if (!value || *value == Place::Any || request.policy == "paper")
    return PlaceAttr();
  return PlaceAttr::get(builder.getContext(), *value);
}

/// The names of some types; no attribute where these are all of them.
static ArrayAttr toTypeNames(OpBuilder &builder,
                             const std::vector<std::string> &types) {
  if (types.empty())
    return ArrayAttr();
  return builder.getStrArrayAttr(llvm::to_vector_of<StringRef>(types));
}

namespace {
/// What one side has of a template: nothing where it is not on the side.
using SideShape = std::optional<std::vector<int64_t>>;

/// Creates the `etc.tensor` ops, by what each side has.
class TensorWriter {
public:
  TensorWriter(OpBuilder &builder, Location loc, const model::Model &model,
               const request::Request &request)
      : builder(builder), loc(loc), model(model), request(request) {
    if (request.prev.inventory)
      prevHeld.emplace(*request.prev.inventory, model);
    if (request.curr.inventory)
      currHeld.emplace(*request.curr.inventory, model);
  }

  void run() const;
  LogicalResult createWorkloads(MigrationOp migration) const;

private:
  void create(const model::TensorTemplate &tensor, const SideShape &prev,
              const SideShape &curr) const;
  SideShape shapeOn(const model::TensorTemplate &tensor,
                    const request::SideSpec &side,
                    const std::optional<InventoryTensors> &held,
                    const std::string &type) const;
  llvm::StringMap<std::string> findStandIns() const;

  OpBuilder &builder;
  Location loc;
  const model::Model &model;
  const request::Request &request;
  std::optional<InventoryTensors> prevHeld, currHeld;
};
} // namespace

void TensorWriter::create(const model::TensorTemplate &tensor,
                          const SideShape &prev, const SideShape &curr) const {
  // That a copy could exist at all decides which buckets the optimizer has.
  bool cutsBuckets = tensor.flat && tensor.block == model::Block::Mtp;
  if (!prev && !curr && !cutsBuckets)
    return;
  DenseI64ArrayAttr prevShape;
  if (prev && curr && *prev != *curr)
    prevShape = builder.getDenseI64ArrayAttr(*prev);
  IntegerAttr split;
  if (tensor.splitAxis >= 0)
    split = builder.getI64IntegerAttr(tensor.splitAxis);
  StringAttr tiedTo;
  if (!tensor.tiedTo.empty())
    tiedTo = builder.getStringAttr(tensor.tiedTo);
  SmallVector<int64_t> layers;
  if (tensor.layers)
    layers = {tensor.layers->begin, tensor.layers->end};
  const std::vector<int64_t> shape =
      curr   ? *curr
      : prev ? *prev
             : model::shapeOn(tensor, request.prev.parallel);
  TensorOp::create(builder, loc, builder.getStringAttr(tensor.name),
                   PartAttr::get(builder.getContext(), toPart(tensor.block)),
                   builder.getDenseI64ArrayAttr(shape), prevShape, split,
                   tiedTo, toList(builder, tensor.view),
                   toList(builder, layers), toTypeNames(builder, tensor.types),
                   tensor.flat ? builder.getUnitAttr() : UnitAttr());
}

SideShape TensorWriter::shapeOn(const model::TensorTemplate &tensor,
                                const request::SideSpec &side,
                                const std::optional<InventoryTensors> &held,
                                const std::string &type) const {
  if (held)
    return held->findShape(tensor, type);
  return model::existsOn(tensor, side.parallel)
             ? SideShape(model::shapeOn(tensor, side.parallel))
             : std::nullopt;
}

/// By a tensor of which the inventories list copies, and not itself, in any
/// type: the first of these copies, which takes its place.
llvm::StringMap<std::string> TensorWriter::findStandIns() const {
  llvm::StringSet<> listed;
  for (const model::TensorTemplate &tensor : model.tensors)
    for (const model::StateType &type : model.types)
      if (model.isOf(tensor, type.name) &&
          (shapeOn(tensor, request.prev, prevHeld, type.name) ||
           shapeOn(tensor, request.curr, currHeld, type.name)))
        listed.insert(tensor.name);
  llvm::StringMap<std::string> standIns;
  for (const model::TensorTemplate &tensor : model.tensors)
    if (!tensor.tiedTo.empty() && listed.contains(tensor.name) &&
        !listed.contains(tensor.tiedTo))
      standIns.try_emplace(tensor.tiedTo, tensor.name);
  return standIns;
}

/// The types of an inventory need not be held alike: each is a tensor of its
/// own.
void TensorWriter::run() const {
  const bool byType = prevHeld || currHeld;
  const llvm::StringMap<std::string> standIns =
      byType ? findStandIns() : llvm::StringMap<std::string>();
  for (const model::TensorTemplate &tensor : model.tensors) {
    if (!byType) {
      create(tensor, shapeOn(tensor, request.prev, prevHeld, ""),
             shapeOn(tensor, request.curr, currHeld, ""));
      continue;
    }
    for (const model::StateType &type : model.types) {
      if (!model.isOf(tensor, type.name))
        continue;
      model::TensorTemplate alone = tensor;
      alone.types = {type.name};
      if (auto it = standIns.find(tensor.tiedTo); it != standIns.end())
        alone.tiedTo = it->second == tensor.name ? "" : it->second;
      create(alone, shapeOn(tensor, request.prev, prevHeld, type.name),
             shapeOn(tensor, request.curr, currHeld, type.name));
    }
  }
}

LogicalResult TensorWriter::createWorkloads(MigrationOp migration) const {
  if (!prevHeld && !currHeld)
    return success();
  const TensorTable table(migration);
  for (auto [held, side] :
       {std::pair(&prevHeld, Side::Prev), {&currHeld, Side::Curr}})
    if (*held && failed((*held)->createWorkloads(migration, table, side)))
      return failure();
  return checkTarget(migration, table);
}

static ArrayAttr toDeferred(Builder &builder, const request::Request &request,
                            const model::Model &model) {
  if (!request.isDeferred())
    return {};
  SmallVector<StringRef> names;
  for (const model::StateType &type : model.types)
    if (request.defers(type.name))
      names.push_back(type.name);
  return builder.getStrArrayAttr(names);
}

static IntegerAttr toVocab(Builder &builder, const model::Model &model) {
  const int64_t rows = model::vocabOf(model);
  return rows ? builder.getI64IntegerAttr(rows) : IntegerAttr();
}

static ResourcesAttr toResources(Builder &builder,
                                 const request::ClusterRates &rates) {
  return ResourcesAttr::get(
      builder.getContext(), builder.getStringAttr(rates.name), rates.linkRate,
      rates.linkLatency, rates.nics, rates.nicRate, rates.nicLatency,
      rates.packRate, rates.acks, rates.assumed);
}

OwningOpRef<ModuleOp> etc::importRequest(MLIRContext &context,
                                         const request::Request &request) {
  context.loadDialect<EtcDialect>();
  OpBuilder builder(&context);
  Location loc = toLocation(builder, request);
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder, loc);
  builder.setInsertionPointToEnd(module->getBody());

  model::Model model =
      model::buildModel(request.model, request.types,
                        request.prev.parallel.distributedOptimizer ||
                            request.curr.parallel.distributedOptimizer);
  if (model::tensorCount(model) > mostTensors) {
    emitError(toLocation(builder, "model", request.model.where))
        << "expected at most " << mostTensors
        << " tensors of all layers and experts, got "
        << model::tensorCount(model) << "; use fewer layers or experts";
    return nullptr;
  }
  if (failed(checkHeld(toLocation(builder, "prev", request.prev.where), model,
                       request.prev)) ||
      failed(checkHeld(toLocation(builder, "curr", request.curr.where), model,
                       request.curr)))
    return nullptr;
  IntegerAttr bytes, ppm;
  if (request.memoryBudget) {
    bool ratio = request.memoryBudget->unit ==
                 request::MemoryBudget::Unit::PartsPerMillion;
    (ratio ? ppm : bytes) = builder.getI64IntegerAttr(
        request.memoryBudget->amount - request.reserve);
  }
  UnitAttr deriveNone =
      request.movesParameters() ? builder.getUnitAttr() : UnitAttr();
  auto migration = MigrationOp::create(
      builder, loc, builder.getStringAttr(model.name),
      toParallel(builder, request.prev.parallel,
                 request.prev.inventory != nullptr),
      toParallel(builder, request.curr.parallel,
                 request.curr.inventory != nullptr),
      toOptionalList(builder, request.prev.devices),
      toOptionalList(builder, request.curr.devices),
      builder.getDenseI64ArrayAttr(request.nodes),
      toList(builder, request.failed), toList(builder, request.draining),
      toPlace(builder, request), builder.getI64IntegerAttr(model.layers),
      model.experts ? builder.getI64IntegerAttr(model.experts) : IntegerAttr(),
      toVocab(builder, model), toStates(builder, model), deriveNone,
      toDeferred(builder, request, model),
      request.isDeferred() ? builder.getI64IntegerAttr(request.gradientBytes)
                           : IntegerAttr(),
      bytes, ppm,
      /*policy=*/PolicyAttr(), toResources(builder, request.rates),
      /*stage=*/StageAttr());
  if (request.reserve > 0)
    migration->setDiscardableAttr(reservedAttr,
                                  builder.getI64IntegerAttr(request.reserve));
  builder.setInsertionPointToEnd(&migration.getBody().emplaceBlock());
  Location modelLoc = toLocation(builder, "model", request.model.where);
  const TensorWriter tensors(builder, modelLoc, model, request);
  tensors.run();
  if (failed(verifySums(migration)) ||
      failed(tensors.createWorkloads(migration)))
    return nullptr;
  return module;
}
