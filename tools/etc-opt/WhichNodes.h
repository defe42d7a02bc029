//===- WhichNodes.h - --which-nodes ---------------------------------------===//

#ifndef ETC_TOOLS_ETCOPT_WHICHNODES_H
#define ETC_TOOLS_ETCOPT_WHICHNODES_H

#include "Options.h"

#include "mlir/IR/MLIRContext.h"

namespace etc {

/// Which nodes are cheapest to give back, as JSON. Returns the exit status.
int writeWhichNodes(mlir::MLIRContext &context, const request::Request &request,
                    const PlannerOptions &options);

} // namespace etc

#endif // ETC_TOOLS_ETCOPT_WHICHNODES_H
