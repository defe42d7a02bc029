//===- ImportInventory.h - What roles hold becomes IR -----------*- C++ -*-===//

#ifndef ETC_LIB_IMPORT_IMPORTINVENTORY_H
#define ETC_LIB_IMPORT_IMPORTINVENTORY_H

#include "dialect/Workloads.h"
#include "etc/Model/Model.h"
#include "etc/Request/Inventory.h"

#include "llvm/ADT/StringMap.h"

#include <map>

namespace etc {

/// The tensors of an inventory, by the model's names.
class InventoryTensors {
public:
  InventoryTensors(const request::Inventory &inventory,
                   const model::Model &model);

  /// The shape of the tensors that a template and a type stand for, as the
  /// inventory's side has it. A vocabulary goes to the last row that anyone
  /// holds, but at least to its own last one: what is behind is padding of the
  /// other side. Nothing where nobody holds any.
  std::optional<std::vector<int64_t>>
  findShape(const model::TensorTemplate &tensor, const std::string &type) const;
  /// Creates the `etc.workload` ops of the inventory's side, `table` being the
  /// migration's. Fails with a diagnostic where a tensor is none of the
  /// model's, or a box can't be an id.
  mlir::LogicalResult createWorkloads(MigrationOp migration,
                                      const TensorTable &table,
                                      Side side) const;

private:
  using Pieces = llvm::SmallVector<Piece>;
  /// Every tensor of the model, without a box, by its name and type.
  using KnownTensors = llvm::StringMap<Piece>;

  KnownTensors findTensors(const TensorTable &table) const;
  llvm::FailureOr<std::map<std::string, Pieces>>
  findPieces(MigrationOp migration, const TensorTable &table, Side side,
             const KnownTensors &known,
             const request::Inventory::Device &role) const;
  int64_t endOfCopies(const model::TensorTemplate &tensor,
                      const std::string &type) const;

  const request::Inventory &inventory;
  const model::Model &model;
  /// By name and type: the end of all boxes on every axis.
  std::map<std::pair<std::string, std::string>, std::vector<int64_t>> ends;
};

} // namespace etc

#endif // ETC_LIB_IMPORT_IMPORTINVENTORY_H
