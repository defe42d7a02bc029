// Making problems, even and random ones.

#include "RandomProblems.h"

#include <algorithm>
#include <numeric>

namespace etc::assignment::testing {
namespace {

Problem gridProblem(const BoxGrid &prev, const BoxGrid &curr, int64_t prevDP,
                    int64_t currDP) {
  std::vector<int64_t> supply(curr.layers.size() * curr.slices.size(), currDP);
  std::vector<int64_t> capacity(prev.layers.size() * prev.slices.size(),
                                prevDP);
  return {supply, capacity, overlapEdges(curr, prev)};
}

std::vector<Span> llamaStages(int64_t layers, int64_t pp) {
  std::vector<Span> stages = evenIntervals(layers + 2, pp);
  for (Span &stage : stages)
    stage = {std::clamp<int64_t>(stage.begin - 1, 0, layers),
             std::clamp<int64_t>(stage.end - 1, 0, layers)};
  return stages;
}

std::vector<Span> someIntervals(int64_t extent, int64_t parts, Random &random) {
  return random.oneIn(2) ? evenIntervals(extent, parts)
                         : unevenIntervals(extent, parts, random);
}

void loseDevices(Problem &problem, Random &random) {
  for (int64_t &capacity : problem.capacity)
    capacity = random.in(0, capacity);
}

Problem randomReconfiguration(Random &random) {
  int64_t layers = random.in(1, 12);
  int64_t prevTP = random.in(1, 4);
  int64_t currTP = random.in(1, 4);
  int64_t slices = std::lcm(prevTP, currTP);
  BoxGrid prev{someIntervals(layers, random.in(1, 4), random),
               evenIntervals(slices, prevTP)};
  BoxGrid curr{someIntervals(layers, random.in(1, 4), random),
               evenIntervals(slices, currTP)};
  int64_t prevDP = random.in(1, 3);
  int64_t currDP = random.in(1, 3);
  Problem problem = gridProblem(prev, curr, prevDP, currDP);
  if (random.oneIn(3))
    loseDevices(problem, random);
  return problem;
}

Weight randomWeight(int64_t largest, bool pairs, Random &random) {
  if (!pairs)
    return {0, random.in(1, largest)};
  // A positive node part leaves the device part free, even to be negative.
  int64_t node = random.in(0, largest);
  return {node,
          node > 0 ? random.in(-largest, largest) : random.in(1, largest)};
}

Problem randomGraph(Random &random) {
  int64_t rows = random.in(1, 6);
  int64_t cols = random.in(1, 6);
  int64_t density = random.in(1, 4);
  int64_t largest = random.oneIn(2) ? 3 : 50;
  int64_t largestClass = random.in(1, 5);
  bool pairs = random.oneIn(2);
  Problem problem;
  for (int64_t i = 0; i < rows; ++i)
    problem.supply.push_back(random.in(0, largestClass));
  for (int64_t j = 0; j < cols; ++j)
    problem.capacity.push_back(random.in(0, largestClass));
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j)
      if (random.oneIn(density))
        problem.edges.push_back(
            {int32_t(i), int32_t(j), randomWeight(largest, pairs, random)});
  return problem;
}

// Several copies side by side, the last one perhaps a little different.
Problem repeated(const Problem &part, Random &random) {
  Problem problem;
  for (int64_t copies = random.in(2, 3); copies > 0; --copies) {
    int32_t rows = int32_t(problem.supply.size());
    int32_t cols = int32_t(problem.capacity.size());
    problem.supply.insert(problem.supply.end(), part.supply.begin(),
                          part.supply.end());
    problem.capacity.insert(problem.capacity.end(), part.capacity.begin(),
                            part.capacity.end());
    for (const Edge &edge : part.edges)
      problem.edges.push_back({rows + edge.row, cols + edge.col, edge.weight});
  }
  if (random.oneIn(2))
    ++problem.supply.back();
  return problem;
}

} // namespace

std::vector<Span> evenIntervals(int64_t extent, int64_t parts) {
  std::vector<Span> intervals;
  int64_t begin = 0;
  for (int64_t i = 0; i < parts; ++i) {
    int64_t end = begin + extent / parts + (i < extent % parts ? 1 : 0);
    intervals.push_back({begin, end});
    begin = end;
  }
  return intervals;
}

std::vector<Span> unevenIntervals(int64_t extent, int64_t parts,
                                  Random &random) {
  std::vector<int64_t> cuts{0, extent};
  for (int64_t i = 1; i < parts; ++i)
    cuts.push_back(random.in(0, extent));
  std::sort(cuts.begin(), cuts.end());
  std::vector<Span> intervals;
  for (size_t i = 0; i + 1 < cuts.size(); ++i)
    intervals.push_back({cuts[i], cuts[i + 1]});
  return intervals;
}

Problem reconfiguration(int64_t layers, Parallel prev, Parallel curr) {
  int64_t slices = std::lcm(prev.tp, curr.tp);
  return gridProblem(
      {evenIntervals(layers, prev.pp), evenIntervals(slices, prev.tp)},
      {evenIntervals(layers, curr.pp), evenIntervals(slices, curr.tp)}, prev.dp,
      curr.dp);
}

Problem llamaReconfiguration(int64_t layers, Parallel prev, Parallel curr) {
  int64_t slices = std::lcm(prev.tp, curr.tp);
  return gridProblem(
      {llamaStages(layers, prev.pp), evenIntervals(slices, prev.tp)},
      {llamaStages(layers, curr.pp), evenIntervals(slices, curr.tp)}, prev.dp,
      curr.dp);
}

Problem randomProblem(uint64_t seed) {
  Random random(seed);
  Problem problem =
      random.oneIn(2) ? randomReconfiguration(random) : randomGraph(random);
  return random.oneIn(5) ? repeated(problem, random) : problem;
}

} // namespace etc::assignment::testing
