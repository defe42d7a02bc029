// Solving component by component, equal ones once.

#include "etc/Optimize/Assignment/Solver.h"

#include "Components.h"
#include "ShortestPaths.h"

#include <cassert>
#include <unordered_map>
#include <utility>

namespace etc::assignment {
namespace {

// A hash over everything that makes two components equal. It only picks
// candidates: equality decides.
struct ProblemHash {
  size_t operator()(const Problem &problem) const {
    uint64_t hash = problem.supply.size();
    auto mix = [&hash](int64_t value) {
      hash = (hash ^ uint64_t(value)) * 0x9e3779b97f4a7c15 ^ (hash >> 29);
    };
    for (int64_t supply : problem.supply)
      mix(supply);
    for (int64_t capacity : problem.capacity)
      mix(capacity);
    for (const Edge &edge : problem.edges) {
      mix(int64_t(edge.row) << 32 | edge.col);
      mix(edge.weight.node);
      mix(edge.weight.device);
    }
    return hash;
  }
};

void paste(const Component &component, const Solution &part, Solution &whole) {
  for (size_t i = 0; i < component.rows.size(); ++i)
    whole.u[component.rows[i]] = part.u[i];
  for (size_t j = 0; j < component.cols.size(); ++j)
    whole.v[component.cols[j]] = part.v[j];
  for (size_t e = 0; e < component.edges.size(); ++e)
    whole.flow[component.edges[e]] = part.flow[e];
  whole.total += part.total;
}

} // namespace

Solution solve(const Problem &problem) {
  assert(!check(problem));
  Components components(problem);
  // The trivial split: nothing to copy, nothing to find again.
  if (components.size() <= 1)
    return ShortestPaths(problem).run();

  Solution whole;
  whole.flow.resize(problem.edges.size());
  whole.u.resize(problem.supply.size());
  whole.v.resize(problem.capacity.size());

  std::unordered_map<Problem, Solution, ProblemHash> solved;
  Component component;
  for (size_t c = 0; c < components.size(); ++c) {
    components.extract(c, component);
    auto found = solved.find(component.problem);
    if (found == solved.end())
      found = solved
                  .emplace(component.problem,
                           ShortestPaths(component.problem).run())
                  .first;
    paste(component, found->second, whole);
  }
  return whole;
}

} // namespace etc::assignment
