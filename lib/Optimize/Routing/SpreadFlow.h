// The least time of a spread, as a flow.

#ifndef ETC_LIB_OPTIMIZE_ROUTING_SPREADFLOW_H
#define ETC_LIB_OPTIMIZE_ROUTING_SPREADFLOW_H

#include "Spread.h"

namespace etc::routing {

/// What a resource carries in a time, rounded up.
int64_t capacityOf(int64_t rate, Time time);

/// Dinic's algorithm on the residual graph that the shares are: from a resource
/// to the lots that it carries bytes of, and on to all that may carry them.
class SpreadFlow {
public:
  explicit SpreadFlow(Spread &spread);

  /// Moves shares until no resource is slower than `time`, or than the least
  /// time if that is more. By discrete Newton iteration: what a maximum flow
  /// leaves above a limit can go nowhere else, so that the mean of those that
  /// it reaches is the next limit.
  void settle(Time time);

private:
  bool relieve();
  bool findDistances();
  Time findMean() const;
  int64_t push(int32_t resource, int64_t bytes);
  int64_t pushInto(int32_t lot, size_t share, int64_t bytes);

  static constexpr int32_t kFar = -1;

  Spread &spread;
  std::vector<std::vector<int32_t>> lotsOf; ///< [resource] that it may carry
  std::vector<int64_t> capacity;            ///< [resource]
  std::vector<int32_t> ofResource, ofLot;   ///< distances
  std::vector<size_t> nextLot;              ///< [resource]
  std::vector<size_t> nextOption;           ///< [lot]
};

} // namespace etc::routing

#endif // ETC_LIB_OPTIMIZE_ROUTING_SPREADFLOW_H
