//===- LayoutString.h - Megatron's pipeline layouts -------------*- C++ -*-===//

#ifndef ETC_LIB_REQUEST_LAYOUTSTRING_H
#define ETC_LIB_REQUEST_LAYOUTSTRING_H

#include "etc/Request/Diagnostic.h"

#include <vector>

namespace etc::request {

/// What --pipeline-model-parallel-layout says.
struct PipelineLayout {
  std::vector<int64_t> layers; ///< of every chunk, in forward order
  int64_t mtpChunk = -1;       ///< the chunk that predicts several tokens
  int64_t mtpLayers = 0;
};

/// Parses a layout such as "Et*3|(tt|)*29,m|L": E is the embedding, t a layer,
/// m a layer of multi-token prediction, L the loss, | ends a chunk; *n repeats
/// what is before it, commas say nothing. All errors are Malformed.
llvm::Expected<PipelineLayout> parseLayoutString(llvm::StringRef text,
                                                 const Field &field);

} // namespace etc::request

#endif // ETC_LIB_REQUEST_LAYOUTSTRING_H
