// Random problems of every kind that the planner meets, and a few that it does
// not.

#ifndef ETC_TEST_UNIT_OPTIMIZE_ASSIGNMENT_RANDOMPROBLEMS_H
#define ETC_TEST_UNIT_OPTIMIZE_ASSIGNMENT_RANDOMPROBLEMS_H

#include "etc/Optimize/Assignment/Overlap.h"
#include "etc/Optimize/Assignment/Problem.h"

#include <cstdint>
#include <random>
#include <vector>

namespace etc::assignment::testing {

/// Random integers that are the same on every machine, unlike
/// std::uniform_int_distribution.
class Random {
public:
  explicit Random(uint64_t seed) : engine(seed) {}

  /// Uniform in [low, high], but for a bias of about 2^-64.
  int64_t in(int64_t low, int64_t high) {
    return low + int64_t(engine() % uint64_t(high - low + 1));
  }

  /// True once in `times`.
  bool oneIn(int64_t times) { return in(1, times) == 1; }

private:
  std::mt19937_64 engine;
};

/// [0, extent) in `parts` intervals whose lengths differ by one at most, the
/// longer ones first.
std::vector<Span> evenIntervals(int64_t extent, int64_t parts);

/// [0, extent) in `parts` intervals cut at random, some of them empty.
std::vector<Span> unevenIntervals(int64_t extent, int64_t parts,
                                  Random &random);

/// PP, TP and DP of a configuration.
struct Parallel {
  int64_t pp = 1;
  int64_t tp = 1;
  int64_t dp = 1;
};

/// The reconfiguration of `layers` layers from prev to curr, even splits,
/// slices of LCM(TP, TP'); columns are the devices of prev, rows the roles of
/// curr.
Problem reconfiguration(int64_t layers, Parallel prev, Parallel curr);

/// Layers split as layers + 2, of which the first stage's first and the last
/// stage's last are not layers: Llama-style.
Problem llamaReconfiguration(int64_t layers, Parallel prev, Parallel curr);

/// A random problem: reconfigurations with uneven stages, replicas and missing
/// devices; sparse and dense graphs with many ties; pair weights; copies of one
/// component; classes of size zero and classes without edges.
Problem randomProblem(uint64_t seed);

} // namespace etc::assignment::testing

#endif // ETC_TEST_UNIT_OPTIMIZE_ASSIGNMENT_RANDOMPROBLEMS_H
