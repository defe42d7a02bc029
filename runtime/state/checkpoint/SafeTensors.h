// What is in a safetensors file.

#ifndef ETC_RUNTIME_STATE_CHECKPOINT_SAFETENSORS_H
#define ETC_RUNTIME_STATE_CHECKPOINT_SAFETENSORS_H

#include "core/plan/Status.h"
#include "core/plan/plan_generated.h"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace etc::runtime {

using plan::ErrorKind;
using plan::Result;
using plan::Status;
using plan::text;

/// A dense, row-major tensor of a file.
struct StoredTensor {
  std::string dtype; // as the format names it: "BF16"
  std::vector<uint64_t> shape;
  uint64_t begin = 0, end = 0; // bytes, from the beginning of the file
};

using StoredTensors = std::map<std::string, StoredTensor>;

/// Reads the list at the beginning of a file: `start` is its first bytes, as
/// many as there are up to kMostListBytes. Everything in it is checked: no
/// tensor lies outside of the file or has another size than it says. Errors are
/// of kind Malformed.
Result<StoredTensors> parseSafeTensors(std::string_view start,
                                       uint64_t fileBytes);

/// How the format names a type of a plan: "BF16".
const char *storedName(plan::fb::DType dtype);

/// The list may be so long, its own length included.
constexpr uint64_t kMostListBytes = uint64_t{64} << 20;

} // namespace etc::runtime

#endif // ETC_RUNTIME_STATE_CHECKPOINT_SAFETENSORS_H
