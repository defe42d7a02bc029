// Peaks beside states, in parts per million.

#ifndef ETC_LIB_OPTIMIZE_ROUNDS_RATIO_H
#define ETC_LIB_OPTIMIZE_ROUNDS_RATIO_H

#include "etc/Optimize/Rounds/Budget.h"

namespace etc::rounds {

constexpr int64_t million = 1000000;

/// The worst peak / max(prev, curr) over all classes, in ppm rounded up; at
/// least a million.
int64_t worstRatio(const Solution &solution,
                   std::span<const ClassTotals> totals);

} // namespace etc::rounds

#endif // ETC_LIB_OPTIMIZE_ROUNDS_RATIO_H
