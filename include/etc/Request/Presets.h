//===- Presets.h - Models known by name -------------------------*- C++ -*-===//

#ifndef ETC_REQUEST_PRESETS_H
#define ETC_REQUEST_PRESETS_H

#include "etc/Request/Request.h"

#include <vector>

namespace etc::request {

/// The names of all presets, smallest model first within a series.
std::vector<llvm::StringRef> presetNames();

/// The shape of a preset. An unknown name is Malformed; the error names the
/// nearest preset and lists them all.
llvm::Expected<ModelSpec> lookupPreset(llvm::StringRef name,
                                       const Field &field);

} // namespace etc::request

#endif // ETC_REQUEST_PRESETS_H
