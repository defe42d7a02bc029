//===- OptionsFuzzer.cpp - Requests from options --------------------------===//
//
// Every line of the input is the value of an option; the first letter says of
// which one.
//
//===----------------------------------------------------------------------===//

#include "etc/Config/Request.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

using namespace etc::config;

static std::optional<std::string> *find(ShorthandOptions &options,
                                        char letter) {
  switch (letter) {
  case 'm':
    return &options.model;
  case 'p':
    return &options.prev;
  case 'c':
    return &options.curr;
  case 'M':
    return &options.megatronArgs;
  case 'C':
    return &options.cluster;
  case 't':
    return &options.types;
  case 'o':
    return &options.optimizer;
  case 'f':
    return &options.failed;
  case 'b':
    return &options.memoryBudget;
  case 'l':
    return &options.layers;
  case 'h':
    return &options.hidden;
  default:
    return nullptr;
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  ShorthandOptions options;
  for (llvm::StringRef line : lines)
    if (!line.empty())
      if (auto *option = find(options, line.front()))
        *option = line.drop_front().str();
  llvm::Expected<Request> request = requestFromOptions(options);
  if (!request)
    consumeError(request.takeError());
  else
    consumeError(checkRequest(*request));
  return 0;
}
