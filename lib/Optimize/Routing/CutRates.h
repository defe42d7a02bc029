// At which rate bytes cross the border of some devices.

#ifndef ETC_LIB_OPTIMIZE_ROUTING_CUTRATES_H
#define ETC_LIB_OPTIMIZE_ROUTING_CUTRATES_H

#include "etc/Optimize/Routing/Problem.h"

#include <vector>

namespace etc::routing {

class CutRates {
public:
  /// Participants are by node.
  CutRates(const Problem &problem,
           const std::vector<std::vector<int32_t>> &participants);

  /// Of devices that take part, at the slower end of the hops.
  int64_t of(const std::vector<int32_t> &devices) const;
  /// The same where all of them are inner devices.
  int64_t ofInner(const std::vector<int32_t> &devices) const;

private:
  int64_t nicsOf(const std::vector<int32_t> &devices) const;

  struct Node {
    size_t participants = 0;
    int64_t links = 0, nics = 0; ///< rates of all that they have
  };
  const Problem &problem;
  std::vector<Node> nodes;
  int64_t allNics = 0;
  size_t used = 0; ///< nodes with participants
};

} // namespace etc::routing

#endif // ETC_LIB_OPTIMIZE_ROUTING_CUTRATES_H
