//===- Types.h - The workload types -----------------------------*- C++ -*-===//

#ifndef ETC_LIB_MODEL_TYPES_H
#define ETC_LIB_MODEL_TYPES_H

#include "etc/Model/Model.h"
#include "etc/Request/States.h"

namespace etc::model {

/// A model's states of these names, in the order of the names.
std::vector<request::State> statesNamed(const request::ModelSpec &spec,
                                        llvm::ArrayRef<std::string> names);

/// The types of states. A type keeps `derivedFrom` only if its source is among
/// them.
std::vector<StateType> stateTypes(llvm::ArrayRef<request::State> states);

/// Whether there is such a state of a parameter.
bool hasState(const TensorTemplate &tensor, const request::State &state);

/// A parameter's template as a state has it that keeps some of its axes. What
/// is averaged over an axis is not cut along it: all ranks hold the same.
TensorTemplate keepAxes(TensorTemplate tensor, request::KeptAxes axes);

} // namespace etc::model

#endif // ETC_LIB_MODEL_TYPES_H
