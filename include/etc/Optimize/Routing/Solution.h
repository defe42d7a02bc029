// A routing: who sends what to whom, and after what.

#ifndef ETC_OPTIMIZE_ROUTING_SOLUTION_H
#define ETC_OPTIMIZE_ROUTING_SOLUTION_H

#include "etc/Optimize/Routing/Problem.h"

#include <optional>
#include <string>
#include <vector>

namespace etc::routing {

/// Bytes [begin, end) of an atom, from one device to another: over their links
/// on one node, over their NICs otherwise. The sender received them in hops of
/// earlier stages, or holds them.
struct Hop {
  int32_t atom;
  int32_t from, to;
  int32_t stage; ///< from 0
  int64_t begin, end;

  bool operator==(const Hop &) const = default;
};

/// Bytes by resource.
struct Loads {
  std::vector<int64_t> linkOut, linkIn; ///< [devices]
  std::vector<int64_t> nicOut, nicIn;   ///< [nics]

  bool operator==(const Loads &) const = default;
};

/// A valid solution obeys
///
/// (S1) a hop joins two different devices that take part, and carries a
/// non-empty interval of an existing atom, cut at its grain;
///
/// (S2) a needer receives every byte of its atom exactly once; a holder
/// receives none of it; another device only where the atom may transit, each
/// byte at most once, and it sends on what it receives;
///
/// (S3) the sender of a hop holds the atom or has received all of the interval
/// in hops of earlier stages;
///
/// (S4) loads are those of the hops;
///
/// (S5) time is that of the slowest resource.
struct Solution {
  std::vector<Hop> hops;
  Loads loads;
  Time time;
};

/// Checks (S1) to (S5), after check(problem). Says what is broken first, and
/// where; nothing if the solution is valid.
std::optional<std::string> verify(const Problem &problem,
                                  const Solution &solution);

} // namespace etc::routing

#endif // ETC_OPTIMIZE_ROUTING_SOLUTION_H
