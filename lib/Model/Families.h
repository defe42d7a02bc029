//===- Families.h - The tensors of each family ------------------*- C++ -*-===//

#ifndef ETC_LIB_MODEL_FAMILIES_H
#define ETC_LIB_MODEL_FAMILIES_H

#include "etc/Model/Model.h"

namespace etc::model {

/// A family of models is a function from sizes to tensors, in forward order.
struct Family {
  llvm::StringRef name;
  std::vector<TensorTemplate> (*tensors)(const config::ModelSpec &);
};

llvm::ArrayRef<Family> families();

} // namespace etc::model

#endif // ETC_LIB_MODEL_FAMILIES_H
