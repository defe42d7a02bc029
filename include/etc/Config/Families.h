//===- Families.h - Families of models known by name ------------*- C++ -*-===//

#ifndef ETC_CONFIG_FAMILIES_H
#define ETC_CONFIG_FAMILIES_H

#include "etc/Config/Request.h"

namespace etc::config {

/// A family: the traits of its layers. Sizes are the model's own.
struct Family {
  llvm::StringRef name;
  Traits traits;
};

/// All families. "table" is one: its models list their own tensors.
llvm::ArrayRef<Family> families();

/// The family of this name, or null.
const Family *findFamily(llvm::StringRef name);

} // namespace etc::config

#endif // ETC_CONFIG_FAMILIES_H
