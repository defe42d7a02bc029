// Instances of the routing problem as text, and random ones.

#ifndef ETC_TEST_UNIT_OPTIMIZE_ROUTING_CASES_H
#define ETC_TEST_UNIT_OPTIMIZE_ROUTING_CASES_H

#include "etc/Optimize/Routing/Bound.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace etc::routing::testing {

/// An instance and what is known of it.
struct Case {
  Problem problem;
  /// What findBound finds.
  std::optional<Time> bound;
  /// How many times the bound solveStriped takes, at most, without transit and
  /// with it.
  double striped = 0, transit = 0;
};

/// Reads lines; # begins a comment. Numbers may end with k, M, G or T, decimal.
///
///     nodes 3 devices 8 nics 8 link 450G nic 50G
///     draining 4 5-7
///     failed 9
///     spare 10
///     atom 96.36G grain 4096: 0 -> 1-23
///     direct 2.1G: 0 -> 1-23
///     bound 96.36G / 400G
///     striped 1.01
///     transit 1.01
///
/// Nobody passes a direct atom on in transit. Atoms that are alike but for
/// their bytes are added up. Throws
/// std::runtime_error with the number of the line.
Case readCase(std::string_view text);

/// Up to 4 nodes of up to 4 devices that share some NICs, up to 6 atoms: small
/// enough for a linear program. Links are as fast as NICs or up to nine times
/// as fast; some devices drain, have failed, or are spare.
Problem randomProblem(uint64_t seed);

/// Up to 4 nodes, each of up to 5 devices with NICs of any smaller number, up
/// to 8 atoms that devices hold or need here and there. Links are at least four
/// times as fast as NICs; one device in seven drains, has failed, or is spare.
Problem unevenProblem(uint64_t seed);

/// Links of devices that take part and NICs, drawn for tolls: at least one.
Tolls randomTolls(const Problem &problem, uint64_t seed);

/// The problem as text that readCase reads.
std::string writeCase(const Problem &problem);

} // namespace etc::routing::testing

#endif // ETC_TEST_UNIT_OPTIMIZE_ROUTING_CASES_H
