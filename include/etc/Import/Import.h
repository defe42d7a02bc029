//===- Import.h - A request becomes IR ------------------------------------===//

#ifndef ETC_IMPORT_IMPORT_H
#define ETC_IMPORT_IMPORT_H

#include "etc/Request/Request.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace etc {

/// A module with one `etc.migration` in the request stage: layouts, cluster and
/// the tensor templates of the model. The request must have passed
/// request::checkRequest. Locations point into the user's file. Loads the
/// dialect. Null, with a diagnostic, where an inventory does not fit the model.
mlir::OwningOpRef<mlir::ModuleOp>
importRequest(mlir::MLIRContext &context, const request::Request &request);

} // namespace etc

#endif // ETC_IMPORT_IMPORT_H
