//===- Presets.h - Models known by name -------------------------*- C++ -*-===//

#ifndef ETC_CONFIG_PRESETS_H
#define ETC_CONFIG_PRESETS_H

#include "etc/Config/Request.h"

#include <vector>

namespace etc::config {

/// The names of all presets, smallest model first within a series.
std::vector<llvm::StringRef> presetNames();

/// The shape of a preset. An unknown name is Malformed; the error names the
/// nearest preset and lists them all.
llvm::Expected<ModelSpec> lookupPreset(llvm::StringRef name,
                                       const Field &field);

} // namespace etc::config

#endif // ETC_CONFIG_PRESETS_H
