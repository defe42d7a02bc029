// The constraints (S1) to (S5) of a solution. Nothing here knows how a solution
// is found.

#include "Message.h"
#include "etc/Optimize/Assignment/Solution.h"

namespace etc::assignment {
namespace {

Message checkLength(const char *array, size_t length, size_t expected) {
  if (length == expected)
    return std::nullopt;
  return text(array, ": expected ", expected, " entries, got ", length);
}

// One end of (S1): the flows through every class stay within its limit.
Message checkLoads(const char *name, const std::vector<int64_t> &limits,
                   const Problem &problem, const std::vector<int64_t> &flow,
                   int32_t Edge::*end) {
  std::vector<Int128> loads(limits.size());
  for (size_t e = 0; e < flow.size(); ++e)
    loads[problem.edges[e].*end] += flow[e];
  for (size_t i = 0; i < limits.size(); ++i)
    if (loads[i] > limits[i])
      return text(At{name, i}, ": the flow is ", loads[i], ", of ", limits[i]);
  return std::nullopt;
}

Message checkFlow(const Problem &problem, const Solution &solution) {
  if (Message error =
          checkLength("flow", solution.flow.size(), problem.edges.size()))
    return error;
  for (size_t e = 0; e < solution.flow.size(); ++e)
    if (solution.flow[e] < 0)
      return text(At{"flow", e}, ": must be at least 0, got ",
                  solution.flow[e]);
  if (Message error = checkLoads("supply", problem.supply, problem,
                                 solution.flow, &Edge::row))
    return error;
  return checkLoads("capacity", problem.capacity, problem, solution.flow,
                    &Edge::col);
}

Message checkTotal(const Problem &problem, const Solution &solution) {
  WideWeight sum;
  for (size_t e = 0; e < solution.flow.size(); ++e)
    sum.add(solution.flow[e], problem.edges[e].weight);
  if (sum == WideWeight(solution.total))
    return std::nullopt;
  return text("total: the flow weighs ", sum, ", got ", solution.total);
}

Message checkSigns(const char *array, std::span<const Weight> duals) {
  for (size_t i = 0; i < duals.size(); ++i)
    if (duals[i] < Weight{})
      return text(At{array, i}, ": must be at least (0, 0), got ", duals[i]);
  return std::nullopt;
}

Message checkCover(const Problem &problem, std::span<const Weight> u,
                   std::span<const Weight> v) {
  for (size_t e = 0; e < problem.edges.size(); ++e) {
    const Edge &edge = problem.edges[e];
    WideWeight cover = u[edge.row];
    cover.add(1, v[edge.col]);
    if (cover < WideWeight(edge.weight))
      return text(At{"u", size_t(edge.row)}, " + ", At{"v", size_t(edge.col)},
                  ": ", cover, " does not cover the weight ", edge.weight,
                  " of ", At{"edges", e});
  }
  return std::nullopt;
}

// (S3) to (S5) of a well-formed problem.
Message checkCertificate(const Problem &problem, Weight total,
                         std::span<const Weight> u, std::span<const Weight> v) {
  if (Message error = checkLength("u", u.size(), problem.supply.size()))
    return error;
  if (Message error = checkLength("v", v.size(), problem.capacity.size()))
    return error;
  if (Message error = checkSigns("u", u))
    return error;
  if (Message error = checkSigns("v", v))
    return error;
  if (Message error = checkCover(problem, u, v))
    return error;

  WideWeight bound;
  for (size_t i = 0; i < u.size(); ++i)
    bound.add(problem.supply[i], u[i]);
  for (size_t j = 0; j < v.size(); ++j)
    bound.add(problem.capacity[j], v[j]);
  if (bound == WideWeight(total))
    return std::nullopt;
  return text("total: the certificate proves ", bound, ", got ", total);
}

} // namespace

std::optional<std::string> verifyCertificate(const Problem &problem,
                                             Weight total,
                                             std::span<const Weight> u,
                                             std::span<const Weight> v) {
  if (Message error = check(problem))
    return error;
  return checkCertificate(problem, total, u, v);
}

std::optional<std::string> verify(const Problem &problem,
                                  const Solution &solution) {
  if (Message error = check(problem))
    return error;
  if (Message error = checkFlow(problem, solution))
    return error;
  if (Message error = checkTotal(problem, solution))
    return error;
  return checkCertificate(problem, solution.total, solution.u, solution.v);
}

} // namespace etc::assignment
