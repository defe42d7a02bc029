// The lists of safetensors files.

#include "state/checkpoint/SafeTensors.h"

#include <cstdlib>

using namespace etc::runtime;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  constexpr uint64_t dataBytes = 64; // that the file has after the list
  Result<StoredTensors> tensors = parseSafeTensors(
      {reinterpret_cast<const char *>(data), size}, size + dataBytes);
  if (!tensors)
    return 0;
  for (const auto &[name, tensor] : *tensors)
    if (tensor.begin > tensor.end || tensor.end > size + dataBytes)
      std::abort();
  return 0;
}
