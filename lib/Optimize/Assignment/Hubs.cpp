// Well-formedness of problems with hubs, and their certificates.

#include "etc/Optimize/Assignment/Hubs.h"

#include "HubPaths.h"
#include "Message.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <utility>

namespace etc::assignment {
namespace {

int32_t groupCount(std::span<const int32_t> groups) {
  return groups.empty() ? 0 : *std::ranges::max_element(groups) + 1;
}

Message checkGroups(const char *name, std::span<const int32_t> groups,
                    size_t count) {
  if (groups.size() != count)
    return text(name, ": expected ", count, " entries, got ", groups.size());
  for (size_t i = 0; i < groups.size(); ++i)
    if (groups[i] < 0 || size_t(groups[i]) >= count)
      return text(At{name, i}, ": ", groups[i], " is not in [0, ", count, ")");
  return std::nullopt;
}

/// The problem of groups.
Problem groupProblem(const HubProblem &problem) {
  Problem groups;
  groups.supply.resize(groupCount(problem.rowGroup));
  groups.capacity.resize(groupCount(problem.colGroup));
  for (size_t i = 0; i < problem.rowGroup.size(); ++i)
    groups.supply[problem.rowGroup[i]] += problem.direct.supply[i];
  for (size_t j = 0; j < problem.colGroup.size(); ++j)
    groups.capacity[problem.colGroup[j]] += problem.direct.capacity[j];
  groups.edges = problem.hubs;
  return groups;
}

using GroupWeights = std::map<std::pair<int32_t, int32_t>, Weight>;

GroupWeights weightsOf(const HubProblem &problem) {
  GroupWeights weights;
  for (const Edge &hub : problem.hubs)
    weights[{hub.row, hub.col}] = hub.weight;
  return weights;
}

} // namespace

std::optional<std::string> check(const HubProblem &problem) {
  const Problem &direct = problem.direct;
  if (Message error = check(direct))
    return error;
  if (Message error =
          checkGroups("rowGroup", problem.rowGroup, direct.supply.size()))
    return error;
  if (Message error =
          checkGroups("colGroup", problem.colGroup, direct.capacity.size()))
    return error;
  if (Message error = check(groupProblem(problem)))
    return "hubs: " + *error;
  GroupWeights weights = weightsOf(problem);
  for (size_t e = 0; e < direct.edges.size(); ++e) {
    const Edge &edge = direct.edges[e];
    auto hub =
        weights.find({problem.rowGroup[edge.row], problem.colGroup[edge.col]});
    if (hub != weights.end() && edge.weight < hub->second)
      return text(At{"edges", e}, ".weight: ", edge.weight,
                  " is less than its hub's ", hub->second);
  }
  return std::nullopt;
}

HubSolution solve(const HubProblem &problem) {
  assert(!check(problem));
  return HubPaths(problem).run();
}

Problem leastCovered(const HubProblem &problem, std::span<const Weight> u,
                     std::span<const Weight> v) {
  auto leastOf = [](std::span<const int32_t> groups,
                    std::span<const Weight> duals) {
    std::vector<int32_t> least(groupCount(groups), -1);
    for (size_t i = 0; i < groups.size(); ++i)
      if (int32_t &best = least[groups[i]]; best < 0 || duals[i] < duals[best])
        best = int32_t(i);
    return least;
  };
  std::vector<int32_t> rows = leastOf(problem.rowGroup, u),
                       cols = leastOf(problem.colGroup, v);
  std::map<std::pair<int32_t, int32_t>, Weight> pairs;
  for (const Edge &hub : problem.hubs)
    if (rows[hub.row] >= 0 && cols[hub.col] >= 0)
      pairs[{rows[hub.row], cols[hub.col]}] = hub.weight;
  for (const Edge &edge : problem.direct.edges)
    pairs[{edge.row, edge.col}] = edge.weight;
  Problem result{problem.direct.supply, problem.direct.capacity, {}};
  for (const auto &[pair, weight] : pairs)
    result.edges.push_back({pair.first, pair.second, weight});
  return result;
}

} // namespace etc::assignment
