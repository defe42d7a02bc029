// Sums of weights that can't overflow, for adding up numbers not trusted.

#ifndef ETC_LIB_OPTIMIZE_ASSIGNMENT_WIDEWEIGHT_H
#define ETC_LIB_OPTIMIZE_ASSIGNMENT_WIDEWEIGHT_H

#include "etc/Optimize/Assignment/Weight.h"

#include <compare>

namespace etc::assignment {

__extension__ using Int128 = __int128;

/// A Weight in 128 bits. Sums of count * weight are exact as long as the counts
/// are >= 0 and add up to less than 2^64.
struct WideWeight {
  Int128 node = 0;
  Int128 device = 0;

  WideWeight() = default;
  WideWeight(Weight w) : node(w.node), device(w.device) {}

  auto operator<=>(const WideWeight &) const = default;

  void add(int64_t count, Weight w) {
    node += Int128(count) * w.node;
    device += Int128(count) * w.device;
  }
};

} // namespace etc::assignment

#endif // ETC_LIB_OPTIMIZE_ASSIGNMENT_WIDEWEIGHT_H
