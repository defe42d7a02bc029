// Numbers by the bytes of what they are of.

#ifndef ETC_PLAN_BYTESMAP_H
#define ETC_PLAN_BYTESMAP_H

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace etc::plan {

struct BytesHash {
  using is_transparent = void;
  size_t operator()(std::string_view bytes) const {
    return std::hash<std::string_view>()(bytes);
  }
};

/// Looks bytes up without a copy of them.
using BytesMap =
    std::unordered_map<std::string, uint32_t, BytesHash, std::equal_to<>>;

} // namespace etc::plan

#endif // ETC_PLAN_BYTESMAP_H
