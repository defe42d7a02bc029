// Words of the sentences about bounds.

#ifndef ETC_LIB_OPTIMIZE_ROUTING_BOUNDWORDS_H
#define ETC_LIB_OPTIMIZE_ROUTING_BOUNDWORDS_H

#include "etc/Optimize/Routing/Bound.h"

#include <initializer_list>
#include <map>
#include <string>
#include <vector>

namespace etc::routing {

using RateCounts = std::map<int64_t, int64_t>; ///< by rate how many

std::string scaled(double value, std::initializer_list<const char *> units);

/// "node 1", "devices 0, 1, 2, 3 and 4 more".
std::string listed(std::string out, const std::vector<int32_t> &list);

/// "2 x 20 MB/s + 1 x 4 MB/s", behind what is before.
std::string listRates(const RateCounts &counts, std::string before, bool isOne);

/// ": nothing is below 24 ms"
std::string describeTime(const Time &time);

} // namespace etc::routing

#endif // ETC_LIB_OPTIMIZE_ROUTING_BOUNDWORDS_H
