//===- Frontier.h - --frontier --------------------------------------------===//

#ifndef ETC_TOOLS_ETCOPT_FRONTIER_H
#define ETC_TOOLS_ETCOPT_FRONTIER_H

#include "Options.h"

#include "mlir/IR/MLIRContext.h"

namespace etc {

/// Plans the request under every placement and objective, and writes what each
/// takes, moves, splits and frees. Returns the exit status.
int writeFrontier(mlir::MLIRContext &context, const request::Request &request,
                  const PlannerOptions &options);

} // namespace etc

#endif // ETC_TOOLS_ETCOPT_FRONTIER_H
