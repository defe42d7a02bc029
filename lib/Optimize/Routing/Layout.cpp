#include "Layout.h"

#include <algorithm>

namespace etc::routing {

Layout::Layout(const std::vector<std::pair<int32_t, int64_t>> &parts,
               int64_t begin, int64_t end, int64_t grain) {
  int64_t carried = begin, last = begin;
  for (auto [device, bytes] : parts) {
    carried += bytes;
    const int64_t cut = std::min(end, (carried + grain / 2) / grain * grain);
    const int64_t position = carried == end ? end : cut;
    if (position <= last)
      continue;
    ends.emplace_back(position, device);
    last = position;
  }
  // The last cut was rounded down to nothing.
  if (last < end)
    ends.emplace_back(end, parts.back().first);
}

} // namespace etc::routing
