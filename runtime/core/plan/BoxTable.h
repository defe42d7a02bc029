// The bounds of a plan that is being made: each box once.

#ifndef ETC_PLAN_BOXTABLE_H
#define ETC_PLAN_BOXTABLE_H

#include "core/plan/BytesTable.h"
#include "etc/Geometry.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace etc::plan {

/// Gives boxes their offsets in a list of bounds.
class BoxTable {
public:
  explicit BoxTable(std::vector<int64_t> &bounds) : bounds(bounds) {}

  /// The offset of a box, which may lie in the list itself.
  uint32_t add(BoxView box) {
    const std::string_view key(reinterpret_cast<const char *>(box.begin()),
                               box.rank() * sizeof(Span));
    const auto next = static_cast<uint32_t>(bounds.size());
    const uint32_t offset = offsets.findOrAdd(
        key, next, [&](uint32_t known) { return bounds.data() + known; });
    if (offset != next)
      return offset;
    for (Span span : Box(box)) {
      bounds.push_back(span.begin);
      bounds.push_back(span.end);
    }
    return offset;
  }

private:
  std::vector<int64_t> &bounds;
  BytesTable offsets;
};

} // namespace etc::plan

#endif // ETC_PLAN_BOXTABLE_H
