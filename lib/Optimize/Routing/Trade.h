// Link time traded against NIC time.

#ifndef ETC_LIB_OPTIMIZE_ROUTING_TRADE_H
#define ETC_LIB_OPTIMIZE_ROUTING_TRADE_H

#include "etc/Optimize/Routing/Solution.h"

namespace etc::routing {

/// The same bytes along other ways: what a late link or NIC carries is taken
/// from another sender, on the node or on another one, or, with transit, by way
/// of a device that passes it on, as far as these are not late then. As near to
/// `goal` as such changes, one after the other, come; as it is where there are
/// too many hops to look at.
Solution trade(const Problem &problem, Solution solution, Time goal);

} // namespace etc::routing

#endif // ETC_LIB_OPTIMIZE_ROUTING_TRADE_H
