// What enters nodes: bytes that several roles of one node lack enter it once.

#ifndef ETC_OPTIMIZE_PLACEMENT_ENTERING_H
#define ETC_OPTIMIZE_PLACEMENT_ENTERING_H

#include "etc/Optimize/Placement/Solution.h"

namespace etc::placement {

/// The bytes that roles need, divided into contents: all bytes of one content
/// are needed by the same roles.
struct Entering {
  std::vector<std::vector<int32_t>> contentsOf; ///< [role] ascending
  /// [content][node class] the bytes that the nodes do not hold.
  std::vector<std::vector<int64_t>> lacking;
  std::vector<int64_t> bytes = {}; ///< [content]
};

/// The bytes that enter nodes under a placement [ranks].
int64_t countEntering(const Problem &problem, const Entering &entering,
                      const std::vector<int64_t> &deviceOf);

/// Exchanges ranks of different nodes, or moves them to free devices, while
/// fewer bytes enter nodes; tensor-parallel groups as a whole under Tp and
/// Pack. For each byte that enters a node less, at most four fewer are kept on
/// devices. Returns the solution as it is where that makes little difference,
/// or where bytes kept on devices count first. A valid solution stays valid.
/// Takes bounded time: where that is not enough for all exchanges, the first
/// ones are tried.
Solution reduceEntering(const Problem &problem, const Entering &entering,
                        Solution solution);

} // namespace etc::placement

#endif // ETC_OPTIMIZE_PLACEMENT_ENTERING_H
