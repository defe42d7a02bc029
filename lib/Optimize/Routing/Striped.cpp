// Nodes first, then rails, then links.

#include "Finish.h"
#include "Inside.h"
#include "Rails.h"
#include "Trade.h"
#include "etc/Optimize/Routing/Solver.h"

namespace etc::routing {

__extension__ using Int128 = __int128;

/// What stays within the bound and 1/256 of it is not split further.
static Time withSlack(Time time) {
  return {static_cast<int64_t>(Int128(time.bytes) * 257 / 256), time.rate};
}

/// Messages that share a link as busy as the NICs hold each other up, so links
/// are to be done a little sooner, where they are fast enough.
static Time inLinks(const Problem &problem, Time time) {
  if (hasSlowLinks(problem))
    return time;
  return {static_cast<int64_t>(Int128(time.bytes) * 7 / 8), time.rate};
}

static Solution solveInOrder(const Problem &problem, Time target, Order order) {
  Rails rails(problem, target, order);
  std::vector<Hop> hops = std::move(rails.hops);
  const std::vector<Hop> inside =
      spreadInside(problem, rails.parts, inLinks(problem, target), order);
  hops.insert(hops.end(), inside.begin(), inside.end());
  return finish(problem, std::move(hops));
}

/// All that links and NICs carry.
static Int128 countBytes(const Solution &solution) {
  Int128 bytes = 0;
  for (const Hop &hop : solution.hops)
    bytes += hop.end - hop.begin;
  return bytes;
}

/// Whether links and NICs carry a sixteenth less: such routes have fewer hops
/// one after the other, which fill and drain sooner.
static bool isShorter(const Solution &one, const Solution &other) {
  return 16 * countBytes(one) <= 15 * countBytes(other);
}

/// Whether it is faster, or as fast but for the slack and shorter, or of fewer
/// hops where neither is shorter.
static bool isBetter(const Solution &one, const Solution &other) {
  if (one.time > withSlack(other.time))
    return false;
  if (other.time > withSlack(one.time))
    return true;
  return isShorter(one, other) ||
         (!isShorter(other, one) && one.hops.size() < other.hops.size());
}

/// Trades are taken where they save an eighth: they make more and smaller hops,
/// which fill rounds less evenly.
static Solution solveFor(const Problem &problem, Time target) {
  Solution best = solveFirstHolder(problem);
  std::vector<Order> orders = {Order::Together, Order::InTurn};
  if (problem.transit)
    orders.push_back(Order::ByChoice);
  for (Order order : orders) {
    Solution striped = solveInOrder(problem, target, order);
    if (isBetter(striped, best))
      best = std::move(striped);
  }
  if (best.time <= target || !hasSlowLinks(problem))
    return best;
  Solution traded = trade(problem, best, target);
  const Time worthwhile{static_cast<int64_t>(Int128(best.time.bytes) * 7 / 8),
                        best.time.rate};
  return traded.time <= worthwhile ? std::move(traded) : std::move(best);
}

Solution solveStriped(const Problem &problem) {
  Solution best;
  for (Time target : findTargets(problem)) {
    Solution found = solveFor(problem, withSlack(target));
    if (best.hops.empty() || isBetter(found, best))
      best = std::move(found);
  }
  return best;
}

} // namespace etc::routing
