//===- ConfigFuzzer.cpp - Models from a config.json -----------------------===//

#include "HuggingFace.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  auto model = etc::request::parseHuggingFace(text, "config.json");
  if (!model)
    consumeError(model.takeError());
  return 0;
}
