// What no routing can go below, with a witness that anybody can check.

#ifndef ETC_OPTIMIZE_ROUTING_BOUND_H
#define ETC_OPTIMIZE_ROUTING_BOUND_H

#include "etc/Optimize/Routing/Problem.h"

#include <optional>
#include <string>
#include <vector>

namespace etc::routing {

enum class Direction : uint8_t { In, Out };

/// Links and NICs that take a toll of each byte, one of what they send and one
/// of what they receive, by device: of a NIC, the first that has it.
struct Tolls {
  std::vector<int32_t> linksOut, linksIn, nicsOut, nicsIn;

  bool empty() const {
    return linksOut.empty() && linksIn.empty() && nicsOut.empty() &&
           nicsIn.empty();
  }
};

/// A set of devices and the bytes that have to cross its border, whatever the
/// sources, relays and rounds. Inner devices, of which most cuts have none,
/// have borders of their own inside the set, and what crosses these counts,
/// too: docs/routing.md says why. A few cuts have no devices, but tolls. A
/// valid cut obeys
///
/// (C1) devices exist, take part, and are strictly ascending, at least one;
/// inner devices are some of them, strictly ascending;
///
/// (C2) time.bytes = the bytes of the atoms that have to cross. Into the set:
/// as many times as there are inner devices that need the atom; where there are
/// none, once if some device of the set needs it and none of the set holds it.
/// Out of it: once if only devices of the set hold the atom, and some device
/// that is outside the set or on a node without holders needs it; or if only
/// inner devices hold it;
///
/// (C3) time.rate = the rate at which they can, at either end of the hops that
/// cross. Links, each once: of the set's devices where devices of the same node
/// but outside the set take part, and of inner devices where any others of the
/// same node do; or of the devices outside the set on its nodes, and of all
/// devices of nodes with inner ones and further devices. NICs, each once: of
/// the set's devices where devices of other nodes take part; or of all devices
/// that take part and have some of the set on another node;
///
/// (C4) or, with tolls, it lists no devices, and at most
/// TollCount::kMostDevices take part; links are of devices that do, and NICs
/// of the first that have them, strictly ascending; time.bytes = the tolls that
/// the bytes of all atoms pay at least, as TollCount counts them; time.rate =
/// the rate of these links and NICs, each once for what it sends and once for
/// what it receives.
struct Cut {
  Direction direction = Direction::In;
  std::vector<int32_t> devices;
  Time time;
  std::vector<int32_t> inner = {};
  Tolls tolls = {};

  /// Whether it says nothing.
  bool empty() const { return devices.empty() && tolls.empty(); }
};

/// Checks (C1) to (C4): no routing of a well-formed problem, with transit or
/// without, is faster than a valid cut. Takes time linear in the problem; with
/// tolls, for each atom a time that depends on the number of devices alone.
/// Says what is broken first; nothing if the cut is valid.
std::optional<std::string> verifyBound(const Problem &problem, const Cut &cut);

/// What the bytes of all atoms pay of well-formed tolls, at the least, and the
/// rate of what takes them.
Time timeOf(const Problem &problem, const Tolls &tolls);

/// The cut in one line: "node 1 lacks 96.36 GB and has 8 x 50 GB/s: nothing is
/// below 240.9 ms".
std::string describe(const Problem &problem, const Cut &cut);

} // namespace etc::routing

#endif // ETC_OPTIMIZE_ROUTING_BOUND_H
