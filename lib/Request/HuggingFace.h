//===- HuggingFace.h - Models from a config.json ----------------*- C++ -*-===//

#ifndef ETC_LIB_REQUEST_HUGGINGFACE_H
#define ETC_LIB_REQUEST_HUGGINGFACE_H

#include "etc/Request/Request.h"

namespace etc::request {

/// The model of a Hugging Face config.json. Its members that say nothing about
/// tensors are ignored. All errors are Malformed; those inside of the text are
/// at their place in `fileName`.
llvm::Expected<ModelSpec> parseHuggingFace(llvm::StringRef text,
                                           llvm::StringRef fileName);

/// The same from a file; `field` is what names the file.
llvm::Expected<ModelSpec> readHuggingFace(llvm::StringRef path,
                                          const Field &field);

} // namespace etc::request

#endif // ETC_LIB_REQUEST_HUGGINGFACE_H
