//===- Locations.cpp - Where the request has its fields -------------------===//
//
// The location of a migration is fused: where the request begins, and a
// NameLoc for each field that it has.
//
//===----------------------------------------------------------------------===//

#include "dialect/Etc.h"

#include "mlir/IR/Diagnostics.h"

using namespace etc;
using namespace mlir;

Location MigrationOp::getFieldLoc(ArrayRef<StringRef> fields) {
  auto fused = dyn_cast<FusedLoc>(getLoc());
  if (!fused)
    return getLoc();
  for (StringRef field : fields)
    for (Location part : fused.getLocations().drop_front())
      if (auto named = dyn_cast<NameLoc>(part);
          named && named.getName() == field)
        return named.getChildLoc();
  return fused.getLocations().front();
}

InFlightDiagnostic MigrationOp::emitFieldError(ArrayRef<StringRef> fields) {
  return mlir::emitError(getFieldLoc(fields));
}
