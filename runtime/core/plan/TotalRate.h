// The rate of many links and NICs together.

#ifndef ETC_PLAN_TOTALRATE_H
#define ETC_PLAN_TOTALRATE_H

#include <algorithm>
#include <cstdint>

namespace etc::plan {

/// More than a bound may state, so a total that large is that of no bound.
constexpr uint64_t kTooFast = INT64_MAX;

/// In bytes a second. A file may state any number of devices and any rate up to
/// limits whose product does not fit: kTooFast then.
inline uint64_t totalRate(uint64_t links, uint64_t linkRate, uint64_t nics,
                          uint64_t nicRate) {
  __extension__ using Wide = unsigned __int128;
  const Wide total = Wide{links} * linkRate + Wide{nics} * nicRate;
  return total < kTooFast ? static_cast<uint64_t>(total) : kTooFast;
}

} // namespace etc::plan

#endif // ETC_PLAN_TOTALRATE_H
