// The bounds of a plan that is being made: each box once.

#ifndef ETC_PLAN_BOXTABLE_H
#define ETC_PLAN_BOXTABLE_H

#include "etc/Geometry.h"

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace etc::plan {

/// Gives boxes their offsets in a list of bounds.
class BoxTable {
public:
  explicit BoxTable(std::vector<int64_t> &bounds) : bounds(bounds) {}

  /// The offset of a box, which may lie in the list itself.
  uint32_t add(BoxView box) {
    const size_t bytes = box.rank() * sizeof(Span);
    const std::string key(reinterpret_cast<const char *>(box.begin()), bytes);
    auto [entry, isNew] =
        offsets.try_emplace(key, static_cast<uint32_t>(bounds.size()));
    if (isNew)
      for (Span span : Box(box)) {
        bounds.push_back(span.begin);
        bounds.push_back(span.end);
      }
    return entry->second;
  }

private:
  std::vector<int64_t> &bounds;
  std::unordered_map<std::string, uint32_t> offsets; // by their bytes
};

} // namespace etc::plan

#endif // ETC_PLAN_BOXTABLE_H
