// Successive shortest paths over a network with hubs. Hubs make most columns
// equally near, so nodes as far as the one just settled are visited depth
// first, and a search ends as soon as the sink is that near: it then touches
// few of them.

#include "HubPaths.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

namespace etc::assignment {

static int32_t groupCount(const std::vector<int32_t> &groups) {
  return groups.empty() ? 0 : *std::ranges::max_element(groups) + 1;
}

HubPaths::HubPaths(const HubProblem &problem)
    : problem(problem), rows(int32_t(problem.direct.supply.size())),
      cols(int32_t(problem.direct.capacity.size())),
      rowHubs(groupCount(problem.rowGroup)),
      colHubs(groupCount(problem.colGroup)),
      sink(rows + cols + rowHubs + colHubs) {
  buildNetwork();
  indexArcs();
  startPotentials();
  size_t nodes = size_t(sink) + 1;
  reached.resize(nodes);
  settled.resize(nodes);
  distance.resize(nodes);
  parent.resize(nodes, kNone);
}

//===----------------------------------------------------------------------===//
// The network
//===----------------------------------------------------------------------===//

void HubPaths::addArc(Node from, Node to, int64_t room, Weight weight) {
  arcs.push_back({from, to, room, weight});
  arcs.push_back({to, from, 0, Weight{} - weight});
}

/// Rows, columns, hubs of rows, hubs of columns, the sink. Only what enters the
/// sink is limited by capacities: the duals of columns without any hold too.
void HubPaths::buildNetwork() {
  const auto &[supply, capacity, edges] = problem.direct;
  int64_t all = std::accumulate(supply.begin(), supply.end(), int64_t(0));
  Node rowHub = rows + cols, colHub = rowHub + rowHubs;
  for (const Edge &edge : edges)
    addArc(edge.row, rows + edge.col, supply[edge.row], edge.weight);
  for (int32_t row = 0; row < rows; ++row)
    addArc(row, rowHub + problem.rowGroup[row], supply[row], {});
  for (const Edge &hub : problem.hubs)
    addArc(rowHub + hub.row, colHub + hub.col, all, hub.weight);
  for (int32_t col = 0; col < cols; ++col)
    addArc(colHub + problem.colGroup[col], rows + col, all, {});
  for (int32_t col = 0; col < cols; ++col)
    addArc(rows + col, sink, capacity[col], {});
  for (int32_t row = 0; row < rows; ++row)
    addArc(row, sink, supply[row], {});
}

void HubPaths::indexArcs() {
  begin.assign(size_t(sink) + 2, 0);
  for (const Arc &arc : arcs)
    ++begin[arc.from + 1];
  for (size_t node = 1; node < begin.size(); ++node)
    begin[node] += begin[node - 1];
  order.resize(arcs.size());
  std::vector<size_t> next(begin.begin(), begin.end() - 1);
  for (size_t arc = 0; arc < arcs.size(); ++arc)
    order[next[arcs[arc].from]++] = arc;
}

/// The largest weight of a way to the sink.
void HubPaths::startPotentials() {
  potential.resize(size_t(sink) + 1);
  for (const Edge &hub : problem.hubs) {
    Weight &best = potential[rows + cols + hub.row];
    best = std::max(best, hub.weight);
  }
  for (int32_t row = 0; row < rows; ++row)
    potential[row] = potential[rows + cols + problem.rowGroup[row]];
  for (const Edge &edge : problem.direct.edges)
    potential[edge.row] = std::max(potential[edge.row], edge.weight);
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

void HubPaths::settle(Node node) {
  settled[node] = searchNumber;
  for (size_t k = begin[node]; k < begin[node + 1]; ++k) {
    const Arc &arc = arcs[order[k]];
    if (arc.room == 0 || settled[arc.to] == searchNumber)
      continue;
    Weight through =
        current + (potential[node] - potential[arc.to] - arc.weight);
    if (reached[arc.to] == searchNumber && distance[arc.to] <= through)
      continue;
    if (reached[arc.to] != searchNumber)
      touched.push_back(arc.to);
    reached[arc.to] = searchNumber;
    distance[arc.to] = through;
    parent[arc.to] = order[k];
    if (through == current) {
      near.push_back(arc.to);
      if (arc.to == sink)
        return;
      continue;
    }
    heap.push_back({through, arc.to});
    std::push_heap(heap.begin(), heap.end(), std::greater<>());
  }
}

HubPaths::Node HubPaths::nextNode() {
  if (!near.empty()) {
    Node node = near.back();
    near.pop_back();
    return node;
  }
  Node node = heap.front().second;
  current = heap.front().first;
  std::pop_heap(heap.begin(), heap.end(), std::greater<>());
  heap.pop_back();
  return node;
}

/// Finds a shortest path to the sink. There is one: a row may stay unmatched.
bool HubPaths::search(Node source) {
  ++searchNumber;
  near = {source};
  heap.clear();
  touched = {source};
  current = {};
  reached[source] = searchNumber;
  distance[source] = {};
  while (!near.empty() || !heap.empty()) {
    Node node = nextNode();
    if (node == sink)
      return true;
    if (settled[node] != searchNumber)
      settle(node);
  }
  return false;
}

void HubPaths::updatePotentials() {
  for (Node node : touched)
    if (distance[node] < current)
      potential[node] -= current - distance[node];
}

int64_t HubPaths::augment(Node source, int64_t limit) {
  for (Node node = sink; node != source; node = arcs[parent[node]].from)
    limit = std::min(limit, arcs[parent[node]].room);
  for (Node node = sink; node != source; node = arcs[parent[node]].from) {
    arcs[parent[node]].room -= limit;
    arcs[parent[node] ^ 1].room += limit;
  }
  return limit;
}

void HubPaths::serve(Node row) {
  int64_t left = problem.direct.supply[row];
  while (left > 0 && search(row)) {
    updatePotentials();
    left -= augment(row, left);
  }
}

//===----------------------------------------------------------------------===//
// The solution
//===----------------------------------------------------------------------===//

/// What rows send into their hub, or what a hub sends into its columns: the
/// class at the other end, and how much.
std::vector<std::pair<int32_t, int64_t>> HubPaths::flowInto(Node hub) const {
  std::vector<std::pair<int32_t, int64_t>> flows;
  bool ofRows = hub < rows + cols + rowHubs;
  for (size_t k = begin[hub]; k < begin[hub + 1]; ++k) {
    size_t arc = order[k];
    Node other = arcs[arc].to;
    bool isBack = arc % 2;
    if (ofRows && isBack && other < rows && arcs[arc].room > 0)
      flows.push_back({other, arcs[arc].room});
    if (!ofRows && !isBack && other < rows + cols && flowOf(arc) > 0)
      flows.push_back({other - rows, flowOf(arc)});
  }
  return flows;
}

HubSolution HubPaths::read() const {
  std::map<std::pair<int32_t, int32_t>, std::pair<Weight, int64_t>> pairs;
  const std::vector<Edge> &edges = problem.direct.edges;
  for (size_t e = 0; e < edges.size(); ++e)
    pairs[{edges[e].row, edges[e].col}] = {edges[e].weight, flowOf(2 * e)};
  std::vector<std::vector<std::pair<int32_t, int64_t>>> from, to;
  for (int32_t hub = 0; hub < rowHubs; ++hub)
    from.push_back(flowInto(rows + cols + hub));
  for (int32_t hub = 0; hub < colHubs; ++hub)
    to.push_back(flowInto(rows + cols + rowHubs + hub));
  // Which row of a group meets which column of another is all the same; the
  // last ones meet first.
  for (size_t h = 0; h < problem.hubs.size(); ++h) {
    const Edge &hub = problem.hubs[h];
    auto &giving = from[hub.row], &taking = to[hub.col];
    for (int64_t left = flowOf(2 * (edges.size() + rows + h)); left > 0;) {
      int64_t amount =
          std::min({left, giving.back().second, taking.back().second});
      auto &pair = pairs[{giving.back().first, taking.back().first}];
      // A pair may have an edge that weighs as much.
      pair.first = std::max(pair.first, hub.weight);
      pair.second += amount;
      left -= amount;
      if (!(giving.back().second -= amount))
        giving.pop_back();
      if (!(taking.back().second -= amount))
        taking.pop_back();
    }
  }
  HubSolution result{{problem.direct.supply, problem.direct.capacity, {}}, {}};
  for (const auto &[pair, used] : pairs) {
    result.problem.edges.push_back({pair.first, pair.second, used.first});
    result.solution.flow.push_back(used.second);
    result.solution.total += used.second * used.first;
  }
  result.solution.u.assign(potential.begin(), potential.begin() + rows);
  for (int32_t col = 0; col < cols; ++col)
    result.solution.v.push_back(Weight{} - potential[rows + col]);
  return result;
}

HubSolution HubPaths::run() {
  for (int32_t row = 0; row < rows; ++row)
    serve(row);
  return read();
}

} // namespace etc::assignment
