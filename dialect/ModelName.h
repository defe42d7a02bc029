//===- ModelName.h - The model that a migration is of -----------*- C++ -*-===//

#ifndef ETC_DIALECT_MODELNAME_H
#define ETC_DIALECT_MODELNAME_H

#include "dialect/Etc.h"

namespace etc {

/// The discardable attribute of a migration whose symbol is not its model's
/// name: two migrations of one model can't have one symbol.
inline constexpr llvm::StringLiteral modelNameAttr = "etc.model";

/// The model's name: `etc.model`, or else the migration's symbol.
inline llvm::StringRef getModelName(MigrationOp migration) {
  auto name = migration->getAttrOfType<mlir::StringAttr>(modelNameAttr);
  return name ? name.getValue() : migration.getSymName();
}

/// Gives a migration a symbol of its own, beside its model's name.
inline void setSymbolOfModel(MigrationOp migration, const llvm::Twine &symbol) {
  auto model =
      mlir::StringAttr::get(migration.getContext(), getModelName(migration));
  migration->setDiscardableAttr(modelNameAttr, model);
  migration.setSymName(symbol.str());
}

} // namespace etc

#endif // ETC_DIALECT_MODELNAME_H
