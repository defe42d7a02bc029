//===- Families.h - Families of models known by name ------------*- C++ -*-===//

#ifndef ETC_REQUEST_FAMILIES_H
#define ETC_REQUEST_FAMILIES_H

#include "etc/Request/Request.h"

namespace etc::request {

/// A family: the traits of its layers. Sizes are the model's own.
struct Family {
  llvm::StringRef name;
  Traits traits;
};

/// All families. "table" is one: its models list their own tensors.
llvm::ArrayRef<Family> families();

/// The family of this name, or null.
const Family *findFamily(llvm::StringRef name);

} // namespace etc::request

#endif // ETC_REQUEST_FAMILIES_H
