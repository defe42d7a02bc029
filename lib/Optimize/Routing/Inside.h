// On nodes: which links carry which bytes.

#ifndef ETC_LIB_OPTIMIZE_ROUTING_INSIDE_H
#define ETC_LIB_OPTIMIZE_ROUTING_INSIDE_H

#include "Rails.h"

#include <vector>

namespace etc::routing {

/// The hops that parts take over links, so that no link takes longer than the
/// least time of all: those who have a part send it, and where they would be
/// late, those who have got it.
std::vector<Hop> spreadInside(const Problem &problem,
                              const std::vector<Part> &parts, Time target,
                              Order order);

} // namespace etc::routing

#endif // ETC_LIB_OPTIMIZE_ROUTING_INSIDE_H
