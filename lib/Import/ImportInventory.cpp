//===- ImportInventory.cpp - What roles hold becomes IR -------------------===//

#include "ImportInventory.h"

#include "mlir/IR/Builders.h"

using namespace etc;
using namespace mlir;
using request::Inventory;

InventoryTensors::InventoryTensors(const Inventory &inventory,
                                   const model::Model &model)
    : inventory(inventory), model(model) {
  std::vector<std::vector<int64_t> *> endOf(inventory.tensors.size());
  for (const Inventory::Device &device : inventory.devices)
    for (int64_t shard : device.has)
      for (int64_t number : inventory.shards[shard].tensors) {
        const Inventory::Tensor &tensor = inventory.tensors[number];
        std::vector<int64_t> *&end = endOf[number];
        if (!end)
          end = &ends[{tensor.name, tensor.type}];
        end->resize(tensor.shape.size());
        for (const Box &box : inventory.shards[shard].boxes)
          for (auto [axis, span] : llvm::enumerate(box))
            (*end)[axis] = std::max((*end)[axis], span.end);
      }
}

/// The end of the rows that anyone holds of the tensor or of a tied copy: they
/// are equal, and padded alike.
int64_t InventoryTensors::endOfCopies(const model::TensorTemplate &tensor,
                                      const std::string &type) const {
  auto primaryOf = [](const model::TensorTemplate &one) {
    return one.tiedTo.empty() ? one.name : one.tiedTo;
  };
  int64_t end = 0;
  for (const model::TensorTemplate &copy : model.tensors)
    if (primaryOf(copy) == primaryOf(tensor))
      if (auto it = ends.find({copy.name, type}); it != ends.end())
        end = std::max(end, it->second.front());
  return end;
}

std::optional<std::vector<int64_t>>
InventoryTensors::findShape(const model::TensorTemplate &tensor,
                            const std::string &type) const {
  std::optional<std::vector<int64_t>> shape;
  model::forInstances(tensor, model, [&](int64_t layer, int64_t expert) {
    auto it = ends.find({model::tensorName(tensor, layer, expert), type});
    if (it == ends.end())
      return;
    // Only a vocabulary has other rows on the other side: those behind its own
    // are padding. Its own are there, or lost.
    shape = tensor.shape;
    if (tensor.vocabRows)
      shape->front() = std::max(shape->front(), endOfCopies(tensor, type));
  });
  return shape;
}

/// A box as three axes; nothing where axes that share a place are cut.
static std::optional<Piece> toPiece(TensorOp tensor, Side side, Piece piece,
                                    const Box &box) {
  piece.outer = piece.cut = piece.inner = {0, 1};
  ArrayRef<int64_t> shape = tensor.getShapeOn(side);
  if (shape.size() != box.rank())
    return std::nullopt;
  for (auto [axis, part] : llvm::enumerate(box)) {
    int64_t place = static_cast<int64_t>(axis) - tensor.getCutAxis();
    Span &span = place < 0 ? piece.outer : place == 0 ? piece.cut : piece.inner;
    if (span.size() != 1 && part.size() != shape[axis])
      return std::nullopt;
    span = {span.begin * part.size() + part.begin,
            (span.end - 1) * part.size() + part.end};
  }
  return piece;
}

static std::string keyOf(StringRef name, StringRef type) {
  return (name + " " + type).str();
}

InventoryTensors::KnownTensors
InventoryTensors::findTensors(const TensorTable &table) const {
  llvm::StringMap<const model::TensorTemplate *> templates;
  for (const model::TensorTemplate &tensor : model.tensors)
    for (const model::StateType &type : model.types)
      if (model.isOf(tensor, type.name))
        templates[keyOf(tensor.name, type.name)] = &tensor;
  KnownTensors known;
  for (unsigned number = 0; number < table.size(); ++number) {
    TensorOp op = table[number];
    for (StringRef type : op.getTypes()->getAsValueRange<StringAttr>()) {
      const auto *tensor = templates.lookup(keyOf(op.getName(), type));
      model::forInstances(*tensor, model, [&](int64_t layer, int64_t expert) {
        known[keyOf(model::tensorName(*tensor, layer, expert), type)] = {
            number, layer, tensor->ofExpert ? expert : 0, {}, {}, {}};
      });
    }
  }
  return known;
}

/// A shard of no elements is nothing to name.
static LogicalResult addPieces(MigrationOp migration, const TensorTable &table,
                               Side side, const Piece &whole, StringRef name,
                               ArrayRef<Box> boxes,
                               SmallVectorImpl<Piece> &pieces) {
  for (const Box &box : boxes) {
    if (volume(box) == 0)
      continue;
    std::optional<Piece> piece = toPiece(table[whole.tensor], side, whole, box);
    if (!piece)
      return migration.emitFieldError({stringifySide(side)})
             << "the inventory has a box of '" << name
             << "' that is cut along more axes than a plan can name";
    pieces.push_back(*piece);
  }
  return success();
}

/// By type.
FailureOr<std::map<std::string, InventoryTensors::Pieces>>
InventoryTensors::findPieces(MigrationOp migration, const TensorTable &table,
                             Side side, const KnownTensors &known,
                             const Inventory::Device &role) const {
  std::map<std::string, Pieces> byType;
  for (int64_t shard : role.has)
    for (int64_t number : inventory.shards[shard].tensors) {
      const Inventory::Tensor &tensor = inventory.tensors[number];
      auto it = known.find(keyOf(tensor.name, tensor.type));
      if (it != known.end()) {
        Pieces pieces;
        if (failed(addPieces(migration, table, side, it->second, tensor.name,
                             inventory.shards[shard].boxes, pieces)))
          return failure();
        if (!pieces.empty())
          llvm::append_range(byType[tensor.type], pieces);
        continue;
      }
      if (!migration.lookupType(
              StringAttr::get(migration.getContext(), tensor.type)))
        continue; // of a type that the request leaves out
      return migration.emitFieldError({stringifySide(side)})
             << "the inventory has '" << tensor.name
             << "', which the model does not have";
    }
  return byType;
}

LogicalResult InventoryTensors::createWorkloads(MigrationOp migration,
                                                const TensorTable &table,
                                                Side side) const {
  const KnownTensors known = findTensors(table);
  OpBuilder builder = OpBuilder::atBlockEnd(&migration.getBody().front());
  Location loc = migration.getFieldLoc({stringifySide(side)});
  for (auto [rank, role] : llvm::enumerate(inventory.devices)) {
    auto pieces = findPieces(migration, table, side, known, role);
    if (failed(pieces))
      return failure();
    for (auto &[type, list] : *pieces) {
      ArrayAttr types = builder.getStrArrayAttr({StringRef(type)});
      WorkloadOp::create(
          builder, loc, side, migration.getParallel(side).getRole(rank),
          foldWorkloads(table, list, table.getTypes(types)), types);
    }
  }
  return success();
}
