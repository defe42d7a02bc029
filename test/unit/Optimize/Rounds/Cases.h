// Instances of the problem of rounds as text, and random ones.

#ifndef ETC_TEST_UNIT_OPTIMIZE_ROUNDS_CASES_H
#define ETC_TEST_UNIT_OPTIMIZE_ROUNDS_CASES_H

#include "etc/Optimize/Rounds/Problem.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace etc::rounds::testing {

/// An instance and what is known of it.
struct Case {
  Problem problem;
  /// The fewest rounds that exceed no class; `none` where there are none. Where
  /// it is not stated, there are too many units to know.
  bool isFewestKnown = false;
  std::optional<int32_t> fewest;
  /// The rounds of solveList, and the forced ones of them.
  int32_t list = 0, forced = 0;
};

/// Reads lines; # begins a comment. Of a unit, each class that it touches, with
/// what it allocates (+), releases (-), sends (>) and receives (<).
///
///     class prev 80 curr 80 limit 110 send 10 recv 10
///     unit: 0 -10 >10, 1 +10 <10
///     unit before 0 after 0: 0 >10, 2 <10
///     ports 2 time 15
///     unit port 0 10 port 1 10: 0 >10, 2 <10
///     unit deferred: 1 -10 >10
///     fewest 8
///     list 9 forced 0
///
/// What is beside deferred units is `beside 5` behind `recv`. `classes 4 prev
/// ...` are four equal ones. Of a unit's ports, the number and its time there.
/// Throws std::runtime_error with the
/// number of the line.
Case readCase(std::string_view text);

/// The problem as text that readCase reads.
std::string writeCase(const Problem &problem);

/// Up to 4 classes and at most 9 units: small enough for solveExact. Tensors
/// move, cut or whole, are passed on and derived; some limits are too tight.
/// Every other problem has ports.
Problem randomProblem(uint64_t seed);
/// The same, of which the last units are deferred, with something beside them.
Problem randomDeferredProblem(uint64_t seed);

} // namespace etc::rounds::testing

#endif // ETC_TEST_UNIT_OPTIMIZE_ROUNDS_CASES_H
