// Hops become a solution.

#ifndef ETC_LIB_OPTIMIZE_ROUTING_FINISH_H
#define ETC_LIB_OPTIMIZE_ROUTING_FINISH_H

#include "etc/Optimize/Routing/Solution.h"

#include <vector>

namespace etc::routing {

/// Numbers the stages of hops that together serve every needer, joins intervals
/// that follow each other, and adds up the loads.
Solution finish(const Problem &problem, std::vector<Hop> hops);

} // namespace etc::routing

#endif // ETC_LIB_OPTIMIZE_ROUTING_FINISH_H
