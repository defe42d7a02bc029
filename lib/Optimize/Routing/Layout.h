// An interval divided among devices.

#ifndef ETC_LIB_OPTIMIZE_ROUTING_LAYOUT_H
#define ETC_LIB_OPTIMIZE_ROUTING_LAYOUT_H

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace etc::routing {

/// Which device carries which bytes of [begin, end), one after the other, cut
/// at multiples of a grain as near as can be to what each is to carry.
class Layout {
public:
  Layout(const std::vector<std::pair<int32_t, int64_t>> &parts, int64_t begin,
         int64_t end, int64_t grain);

  int32_t device() const { return ends[at].second; }
  int64_t end() const { return ends[at].first; }
  /// Goes on to the device at `position`, which is not behind this one's end.
  void goTo(int64_t position) {
    if (position == end() && at + 1 < ends.size())
      ++at;
  }

private:
  std::vector<std::pair<int64_t, int32_t>> ends;
  size_t at = 0;
};

} // namespace etc::routing

#endif // ETC_LIB_OPTIMIZE_ROUTING_LAYOUT_H
