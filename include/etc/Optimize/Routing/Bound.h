// What no routing can go below, with a witness that anybody can check.

#ifndef ETC_OPTIMIZE_ROUTING_BOUND_H
#define ETC_OPTIMIZE_ROUTING_BOUND_H

#include "etc/Optimize/Routing/Problem.h"

#include <optional>
#include <string>
#include <vector>

namespace etc::routing {

enum class Direction : uint8_t { In, Out };

/// A set of devices and the bytes that have to cross its border, whatever the
/// sources, relays and rounds. A valid cut obeys
///
/// (C1) devices exist, take part, and are strictly ascending, at least one;
///
/// (C2) time.bytes = the bytes of the atoms that have to cross, each once: into
/// the set what some device of it needs and none of it holds; out of it what
/// only devices of it hold and some device outside needs;
///
/// (C3) time.rate = the rate at which they can: the links of the set's devices
/// whose nodes have others that take part, and the NICs of the set's devices,
/// each once, where devices of other nodes take part.
struct Cut {
  Direction direction = Direction::In;
  std::vector<int32_t> devices;
  Time time;
};

/// Checks (C1) to (C3), in time linear in the problem: no routing of a
/// well-formed problem, with transit or without, is faster than a valid cut.
/// Says what is broken first; nothing if the cut is valid.
std::optional<std::string> verifyBound(const Problem &problem, const Cut &cut);

/// The cut in one line: "node 1 lacks 96.36 GB and has 8 x 50 GB/s: nothing is
/// below 240.9 ms".
std::string describe(const Problem &problem, const Cut &cut);

} // namespace etc::routing

#endif // ETC_OPTIMIZE_ROUTING_BOUND_H
