//===- Types.h - The workload types -----------------------------*- C++ -*-===//

#ifndef ETC_LIB_MODEL_TYPES_H
#define ETC_LIB_MODEL_TYPES_H

#include "etc/Model/Model.h"

namespace etc::model {

/// The types of these names, in the order of the names. A type keeps
/// `derivedFrom` only if its source is among them.
std::vector<StateType> stateTypes(llvm::ArrayRef<std::string> names);

} // namespace etc::model

#endif // ETC_LIB_MODEL_TYPES_H
