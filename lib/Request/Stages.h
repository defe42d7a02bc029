//===- Stages.h - The layers of every stage ---------------------*- C++ -*-===//

#ifndef ETC_LIB_REQUEST_STAGES_H
#define ETC_LIB_REQUEST_STAGES_H

#include "etc/Request/Request.h"

namespace etc::request {

/// Turns the split that a side asks for into Parallelism::stages of a model of
/// so many layers, and puts the configuration into its one normal form. What
/// can't be done leaves the configuration as it is.
llvm::Error resolveStages(SideSpec &side, int64_t layers, const Field &field);

} // namespace etc::request

#endif // ETC_LIB_REQUEST_STAGES_H
