// Nodes first, then rails, then links.

#include "Finish.h"
#include "Inside.h"
#include "Rails.h"
#include "etc/Optimize/Routing/Solver.h"

namespace etc::routing {

__extension__ using Int128 = __int128;

/// What stays within the bound and 1/256 of it is not split further.
static Time withSlack(Time time) {
  return {static_cast<int64_t>(Int128(time.bytes) * 257 / 256), time.rate};
}

Solution solveStriped(const Problem &problem) {
  const Time target = withSlack(findBound(problem).time);
  Rails rails(problem, target);
  std::vector<Hop> hops = std::move(rails.hops);
  const std::vector<Hop> inside = spreadInside(problem, rails.parts, target);
  hops.insert(hops.end(), inside.begin(), inside.end());
  Solution striped = finish(problem, std::move(hops));
  Solution plain = solveFirstHolder(problem);
  return plain.time <= striped.time ? plain : striped;
}

} // namespace etc::routing
