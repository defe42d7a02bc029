//===- Families.h - The tensors of each family ------------------*- C++ -*-===//

#ifndef ETC_LIB_MODEL_FAMILIES_H
#define ETC_LIB_MODEL_FAMILIES_H

#include "etc/Model/Model.h"

namespace etc::model {

/// The type of what is no parameter, but belongs to the model: it has no
/// optimizer state.
inline constexpr llvm::StringRef bufferType = "buffer";

/// The tensors of a model of Megatron-Core's GPTModel, in module order.
std::vector<TensorTemplate> gptModelTensors(const request::ModelSpec &spec);

/// The tensors of a model that lists them.
std::vector<TensorTemplate> tableTensors(const request::ModelSpec &spec);

} // namespace etc::model

#endif // ETC_LIB_MODEL_FAMILIES_H
