//===- Passes.h - From a request to a proven plan ---------------------------===//

#ifndef ETC_TRANSFORMS_PASSES_H
#define ETC_TRANSFORMS_PASSES_H

#include "dialect/Etc.h"

#include "mlir/Pass/Pass.h"

namespace etc {

#define GEN_PASS_DECL
#include "etc/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "etc/Transforms/Passes.h.inc"

/// From the request stage to a proven plan. Each step says why it stands where it does.
void buildPlanPipeline(mlir::OpPassManager &passes);

/// Registers the pipeline as `etc-plan`.
void registerEtcPipelines();

} // namespace etc

#endif // ETC_TRANSFORMS_PASSES_H
