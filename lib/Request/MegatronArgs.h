//===- MegatronArgs.h - Arguments of a Megatron training script -*- C++ -*-===//

#ifndef ETC_LIB_REQUEST_MEGATRONARGS_H
#define ETC_LIB_REQUEST_MEGATRONARGS_H

#include "etc/Request/Request.h"

namespace etc::request {

/// The model that the arguments of a training script describe, such as
/// "--num-layers 32 --swiglu --untie-embeddings-and-output-weights". Arguments
/// that say nothing about tensors are ignored. All errors are Malformed.
llvm::Error modelOfMegatronArgs(llvm::StringRef text, const Field &field,
                                ModelSpec &model);

/// The configuration that they describe. dp is what --world-size, or --nnodes
/// and --nproc-per-node, leave for it; without them, what the cluster does.
llvm::Error sideOfMegatronArgs(llvm::StringRef text, const Field &field,
                               SideSpec &side);

} // namespace etc::request

#endif // ETC_LIB_REQUEST_MEGATRONARGS_H
