//===- CheckHeld.h - Whether a file is of the request's model ---*- C++ -*-===//

#ifndef ETC_LIB_IMPORT_CHECKHELD_H
#define ETC_LIB_IMPORT_CHECKHELD_H

#include "etc/Model/Model.h"
#include "etc/Request/Request.h"

#include "mlir/IR/Location.h"

namespace etc {

/// Fails with a diagnostic where the plan or the inventory that a side names
/// has a tensor of the model's with another shape or dtype, or where the plan
/// lacks one. The rows of a vocabulary may differ in an inventory.
mlir::LogicalResult checkHeld(mlir::Location loc, const model::Model &model,
                              const request::SideSpec &side);

} // namespace etc

#endif // ETC_LIB_IMPORT_CHECKHELD_H
