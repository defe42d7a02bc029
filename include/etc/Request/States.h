//===- States.h - What is kept of every parameter ---------------*- C++ -*-===//
//
// The table of state types: what each optimizer keeps, in which element type,
// how much of a parameter's shape it has, who holds it, and what it can be
// derived from. A new optimizer is a new table here and nothing elsewhere.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_REQUEST_STATES_H
#define ETC_REQUEST_STATES_H

#include "etc/Request/Request.h"

namespace etc::request {

/// The parameters that have a state. A matrix has at least two axes in the
/// trainer's view.
enum class Subjects {
  All,
  Matrices,       ///< what can be factored
  Vectors,        ///< all others
  HiddenMatrices, ///< two axes, and neither embedding nor output layer
  NoHiddenMatrices,
};

/// The axes of a parameter that a state keeps.
enum class KeptAxes {
  All,
  Rows,    ///< all but the last: one element a row
  Columns, ///< the last alone: one element a column
  Blocks,  ///< one element a block of fixed size
};

/// Who holds a state.
enum class Owner {
  Parameter,   ///< whoever holds the parameter, the same part of it
  FlatRange,   ///< the same; with the distributed optimizer, a flat range
  WholeMatrix, ///< the same; distributed, one rank has all of a matrix
};

/// A state type.
struct State {
  llvm::StringRef name;
  llvm::StringRef dtype; ///< as plans call it: "fp32"
  Owner owner = Owner::FlatRange;
  Subjects subjects = Subjects::All;
  KeptAxes axes = KeptAxes::All;
  /// The type that it can be cast from bit for bit, or empty.
  llvm::StringRef derivedFrom = {};
  /// The trainer computes it from other states where these land: it is never
  /// part of a plan.
  bool recomputed = false;
};

/// The states of a precision and an optimizer: "param" and its like first, then
/// the optimizer's, in the fixed order of types.
std::vector<State> statesOf(llvm::StringRef precision,
                            llvm::StringRef optimizer);

/// The same of a model, with the element types that it gives itself.
std::vector<State> statesOf(const ModelSpec &model);

/// Whether a type is what a forward pass reads: "param", or, in an inventory
/// that names types with their dtypes, "param.bf16" and its like; and "buffer",
/// a router's bias.
bool isParameters(llvm::StringRef type);

/// The names of the types that are migrated.
std::vector<llvm::StringRef> typeNames(const ModelSpec &model);

/// The precisions and the optimizers that have tables; the first is the
/// default.
std::vector<llvm::StringRef> precisionNames();
std::vector<llvm::StringRef> optimizerNames();

/// Whether the distributed optimizer can cut all states of a model.
bool canDistribute(const ModelSpec &model);

} // namespace etc::request

#endif // ETC_REQUEST_STATES_H
