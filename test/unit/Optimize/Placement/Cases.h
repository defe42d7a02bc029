// Instances of the problem of placement as text, and random ones.

#ifndef ETC_TEST_UNIT_OPTIMIZE_PLACEMENT_CASES_H
#define ETC_TEST_UNIT_OPTIMIZE_PLACEMENT_CASES_H

#include "etc/Optimize/Placement/Entering.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace etc::placement::testing {

/// An instance and what is known of it.
struct Case {
  Problem problem;
  /// What `solve` keeps; `none` where it has no solution.
  std::optional<assignment::Weight> solved;
  /// What is kept at most. Where it is not stated, there are too many devices
  /// to know.
  bool isMostKnown = false;
  std::optional<assignment::Weight> most;
};

/// Reads lines; # begins a comment. A node has its class, and of each device
/// the previous role, - for none; d before it says that the device drains, x
/// that it has failed.
///
///     policy pack
///     first node
///     replicas 1
///     stages 1
///     group 2
///     ranks 0 1 2 3
///     node 0 : 0 1
///     node 1 : d2 -
///     device rows 0 0 1 1       the groups of roles, and of previous roles
///     device columns 0 1 2
///     device base 16 0 0        of a group of roles, in order
///     device base 0 16 16
///     device pair 0 1 4         role, previous role, and bytes beyond those
///     node rows 0 0 1 1         the same, of classes of nodes
///     ...
///     most 32 16
///     solved none
///
/// Throws std::runtime_error with the number of the line.
Case readCase(std::string_view text);

/// The problem as text that readCase reads.
std::string writeCase(const Problem &problem);

/// At most 7 devices: small enough for solveExact. All policies, nodes of one
/// size and of several, groups and spans that benefit single roles.
Problem randomProblem(uint64_t seed);

/// Contents of random sets of roles, of which node classes lack any part.
Entering randomEntering(const Problem &problem, uint64_t seed);

} // namespace etc::placement::testing

#endif // ETC_TEST_UNIT_OPTIMIZE_PLACEMENT_CASES_H
