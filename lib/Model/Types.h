//===- Types.h - The workload types -----------------------------*- C++ -*-===//

#ifndef ETC_LIB_MODEL_TYPES_H
#define ETC_LIB_MODEL_TYPES_H

#include "etc/Config/States.h"
#include "etc/Model/Model.h"

namespace etc::model {

/// A model's states of these names, in the order of the names.
std::vector<config::State> statesNamed(const config::ModelSpec &spec,
                                       llvm::ArrayRef<std::string> names);

/// The types of states. A type keeps `derivedFrom` only if its source is among
/// them.
std::vector<StateType> stateTypes(llvm::ArrayRef<config::State> states);

/// Whether there is such a state of a parameter.
bool hasState(const TensorTemplate &tensor, const config::State &state);

/// A parameter's template as a state has it that keeps some of its axes. What
/// is averaged over an axis is not cut along it: all ranks hold the same.
TensorTemplate keepAxes(TensorTemplate tensor, config::KeptAxes axes);

} // namespace etc::model

#endif // ETC_LIB_MODEL_TYPES_H
