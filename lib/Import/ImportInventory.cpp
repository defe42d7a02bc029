//===- ImportInventory.cpp - What devices hold becomes IR -----------------===//

#include "ImportInventory.h"

#include "dialect/Workloads.h"

#include "mlir/IR/Builders.h"

using namespace etc;
using namespace mlir;
using request::Inventory;

InventoryTensors::InventoryTensors(const Inventory &inventory,
                                   const model::Model &model)
    : inventory(inventory), model(model) {
  for (const Inventory::Device &device : inventory.devices)
    for (int64_t number : device.has) {
      const Inventory::Shard &shard = inventory.shards[number];
      const Inventory::Tensor &tensor = inventory.tensors[shard.tensor];
      std::vector<int64_t> &end = ends[{tensor.name, tensor.type}];
      end.resize(tensor.shape.size());
      for (const Inventory::Box &box : shard.boxes)
        for (auto [axis, range] : llvm::enumerate(box))
          end[axis] = std::max(end[axis], range.second);
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
static std::optional<Piece> toPiece(TensorOp tensor,
                                    const Inventory::Box &box) {
  Piece piece{0, 0, 0, {0, 1}, {0, 1}, {0, 1}};
  ArrayRef<int64_t> shape = tensor.getShapeOn(Side::Prev);
  if (shape.size() != box.size())
    return std::nullopt;
  for (auto [axis, range] : llvm::enumerate(box)) {
    int64_t place = static_cast<int64_t>(axis) - tensor.getCutAxis(),
            size = range.second - range.first;
    Span &span = place < 0 ? piece.outer : place == 0 ? piece.cut : piece.inner;
    if (span.size() != 1 && size != shape[axis])
      return std::nullopt;
    span = {span.begin * size + range.first,
            (span.end - 1) * size + range.second};
  }
  return piece;
}

LogicalResult InventoryTensors::createWorkloads(MigrationOp migration) const {
  TensorTable table(migration);
  std::map<std::pair<std::string, std::string>, Piece> known;
  for (unsigned number = 0; number < table.size(); ++number) {
    TensorOp op = table[number];
    for (const model::TensorTemplate &tensor : model.tensors)
      for (StringRef type : op.getTypes()->getAsValueRange<StringAttr>())
        if (tensor.name == op.getName() && model.isOf(tensor, type))
          model::forInstances(
              tensor, model, [&](int64_t layer, int64_t expert) {
                known[{model::tensorName(tensor, layer, expert), type.str()}] =
                    {number, layer, tensor.ofExpert ? expert : 0, {}, {}, {}};
              });
  }
  OpBuilder builder = OpBuilder::atBlockEnd(&migration.getBody().front());
  for (auto [rank, device] : llvm::enumerate(inventory.devices)) {
    std::map<std::string, SmallVector<Piece>> byType;
    for (int64_t number : device.has) {
      const Inventory::Shard &shard = inventory.shards[number];
      const Inventory::Tensor &tensor = inventory.tensors[shard.tensor];
      auto it = known.find({tensor.name, tensor.type});
      if (it == known.end()) {
        if (!migration.lookupType(builder.getStringAttr(tensor.type)))
          continue; // of a type that the request leaves out
        return migration.emitFieldError({"prev"})
               << "the inventory has '" << tensor.name
               << "', which the model does not have";
      }
      for (const Inventory::Box &box : shard.boxes) {
        std::optional<Piece> piece = toPiece(table[it->second.tensor], box);
        if (!piece)
          return migration.emitFieldError({"prev"})
                 << "the inventory has a box of '" << tensor.name
                 << "' that is cut along more axes than a plan can name";
        std::tie(piece->tensor, piece->layer, piece->expert) =
            std::tuple(it->second.tensor, it->second.layer, it->second.expert);
        byType[tensor.type].push_back(*piece);
      }
    }
    for (auto &[type, pieces] : byType) {
      ArrayAttr types = builder.getStrArrayAttr({StringRef(type)});
      WorkloadOp::create(builder, migration.getFieldLoc({"prev"}), Side::Prev,
                         migration.getPrev().getRole(rank),
                         foldWorkloads(table, pieces, table.getTypes(types)),
                         types);
    }
  }
  return success();
}
