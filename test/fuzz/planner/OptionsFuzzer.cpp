//===- OptionsFuzzer.cpp - Requests from options --------------------------===//
//
// Every line of the input is the value of an option; the first letter says of
// which one.
//
//===----------------------------------------------------------------------===//

#include "etc/Request/Request.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

using namespace etc::request;

static const char *optionOf(char letter) {
  switch (letter) {
  case 'm':
    return "model";
  case 'p':
    return "prev";
  case 'c':
    return "curr";
  case 'M':
    return "megatron-args";
  case 'C':
    return "cluster";
  case 't':
    return "types";
  case 'o':
    return "optimizer";
  case 'f':
    return "failed";
  case 'b':
    return "memory-budget";
  case 'l':
    return "layers";
  case 'h':
    return "hidden";
  default:
    return nullptr;
  }
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef text(reinterpret_cast<const char *>(data), size);
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  Overrides options;
  for (llvm::StringRef line : lines)
    if (!line.empty())
      if (const char *option = optionOf(line.front()))
        options.values[option] = line.drop_front().str();
  llvm::Expected<Request> request = requestFromOptions(options);
  if (!request)
    consumeError(request.takeError());
  else
    consumeError(checkRequest(*request));
  return 0;
}
