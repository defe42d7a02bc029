// Successive shortest paths. Distances are sums of reduced weights u[i] + v[j]
// - weight >= 0; walking an edge with flow backwards costs nothing, since such
// edges are tight.

#include "ShortestPaths.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

namespace etc::assignment {

ShortestPaths::ShortestPaths(const Problem &problem)
    : problem(problem), supplyLeft(problem.supply), room(problem.capacity) {
  size_t rows = problem.supply.size();
  size_t cols = problem.capacity.size();
  solution.flow.resize(problem.edges.size());
  solution.u.resize(rows);
  solution.v.resize(cols);
  rowStamp.resize(rows);
  rowDistance.resize(rows);
  rowParent.resize(rows);
  colStamp.resize(cols);
  colDistance.resize(cols);
  colParent.resize(cols);
  indexColumns();
}

void ShortestPaths::indexColumns() {
  rowBegin.resize(problem.supply.size() + 1);
  colBegin.resize(problem.capacity.size() + 1);
  for (const Edge &edge : problem.edges) {
    ++rowBegin[edge.row + 1];
    ++colBegin[edge.col + 1];
  }
  for (size_t i = 1; i < rowBegin.size(); ++i)
    rowBegin[i] += rowBegin[i - 1];
  for (size_t j = 1; j < colBegin.size(); ++j)
    colBegin[j] += colBegin[j - 1];

  colEdges.resize(problem.edges.size());
  std::vector<size_t> next(colBegin.begin(), colBegin.end() - 1);
  for (size_t e = 0; e < problem.edges.size(); ++e)
    colEdges[next[problem.edges[e].col]++] = e;
}

Solution ShortestPaths::run() {
  int32_t rows = int32_t(problem.supply.size());
  startDuals();
  for (int32_t row = 0; row < rows; ++row)
    fillTightEdges(row);
  for (int32_t row = 0; row < rows; ++row)
    serve(row);
  for (size_t e = 0; e < problem.edges.size(); ++e)
    solution.total += solution.flow[e] * problem.edges[e].weight;
  return std::move(solution);
}

void ShortestPaths::startDuals() {
  for (const Edge &edge : problem.edges)
    solution.u[edge.row] = std::max(solution.u[edge.row], edge.weight);
}

void ShortestPaths::fillTightEdges(int32_t row) {
  for (size_t e = rowBegin[row]; e < rowBegin[row + 1] && supplyLeft[row] > 0;
       ++e) {
    int32_t col = problem.edges[e].col;
    if (problem.edges[e].weight != solution.u[row])
      continue;
    int64_t amount = std::min(supplyLeft[row], room[col]);
    solution.flow[e] += amount;
    supplyLeft[row] -= amount;
    room[col] -= amount;
  }
}

void ShortestPaths::serve(int32_t row) {
  // A row whose dual is zero may leave the rest of its supply unmatched.
  while (supplyLeft[row] > 0 && solution.u[row] > Weight{}) {
    search(row);
    updateDuals();
    augment(row);
  }
}

void ShortestPaths::search(int32_t source) {
  ++searchNumber;
  heap.clear();
  enteredRows.clear();
  reachedCols.clear();
  target = {solution.u[source], kNone, source};
  enterRow(source, {});
  while (!heap.empty() && heap.front().distance < target.distance) {
    Visit visit = heap.front();
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    heap.pop_back();
    if (visit.distance == colDistance[visit.col])
      visitColumn(visit);
  }
}

void ShortestPaths::visitColumn(Visit visit) {
  for (size_t k = colBegin[visit.col]; k < colBegin[visit.col + 1]; ++k) {
    size_t edge = colEdges[k];
    int32_t row = problem.edges[edge].row;
    if (solution.flow[edge] == 0 || rowStamp[row] == searchNumber)
      continue;
    rowParent[row] = edge;
    enterRow(row, visit.distance);
  }
}

void ShortestPaths::enterRow(int32_t row, Weight distance) {
  rowStamp[row] = searchNumber;
  rowDistance[row] = distance;
  enteredRows.push_back(row);
  offer({distance + solution.u[row], kNone, row});
  for (size_t e = rowBegin[row]; e < rowBegin[row + 1]; ++e)
    relax(e, distance);
}

void ShortestPaths::relax(size_t edge, Weight distance) {
  const auto &[row, col, weight] = problem.edges[edge];
  Weight through = distance + (solution.u[row] + solution.v[col] - weight);
  // What is farther than the target is on no shortest path. What is as far may
  // still be a better tie.
  if (through > target.distance)
    return;
  bool reached = colStamp[col] == searchNumber;
  if (reached && colDistance[col] <= through)
    return;
  if (!reached) {
    colStamp[col] = searchNumber;
    reachedCols.push_back(col);
  }
  colDistance[col] = through;
  colParent[col] = edge;
  if (room[col] > 0) {
    offer({through, col, kNone});
    return;
  }
  heap.push_back({through, col});
  std::push_heap(heap.begin(), heap.end(), std::greater<>());
}

// Among equal distances: a column before a row, then the lowest.
void ShortestPaths::offer(Target candidate) {
  auto key = [](const Target &t) {
    return std::tuple(t.distance, t.col == kNone, t.col, t.row);
  };
  if (key(candidate) < key(target))
    target = candidate;
}

// Distances shrink to zero along the shortest path, which makes its edges
// tight, and no reduced weight falls below zero. Classes at least as far as the
// target keep their duals.
void ShortestPaths::updateDuals() {
  for (int32_t row : enteredRows)
    if (rowDistance[row] < target.distance)
      solution.u[row] -= target.distance - rowDistance[row];
  for (int32_t col : reachedCols)
    if (colDistance[col] < target.distance)
      solution.v[col] += target.distance - colDistance[col];
}

int64_t ShortestPaths::bottleneck(int32_t source) const {
  int64_t amount = supplyLeft[source];
  int32_t row = target.row;
  if (target.col != kNone) {
    amount = std::min(amount, room[target.col]);
    row = problem.edges[colParent[target.col]].row;
  }
  while (row != source) {
    size_t edge = rowParent[row];
    amount = std::min(amount, solution.flow[edge]);
    row = problem.edges[colParent[problem.edges[edge].col]].row;
  }
  return amount;
}

void ShortestPaths::augment(int32_t source) {
  int64_t amount = bottleneck(source);
  int32_t row = target.row;
  if (target.col != kNone) {
    room[target.col] -= amount;
    row = problem.edges[colParent[target.col]].row;
    solution.flow[colParent[target.col]] += amount;
  }
  while (row != source) {
    size_t taken = rowParent[row];
    size_t given = colParent[problem.edges[taken].col];
    solution.flow[taken] -= amount;
    solution.flow[given] += amount;
    row = problem.edges[given].row;
  }
  // A path that ends at its source is a row that takes no more: its dual is now
  // zero.
  if (target.row != source)
    supplyLeft[source] -= amount;
}

} // namespace etc::assignment
