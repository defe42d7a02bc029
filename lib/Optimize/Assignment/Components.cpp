// Components by union-find, extracted by counting sorts: linear in the edges
// but for the sort of each one's columns.

#include "Components.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace etc::assignment {

Components::Components(const Problem &problem)
    : problem(problem), parent(problem.supply.size() + problem.capacity.size()),
      localColumns(problem.capacity.size()) {
  unite();
  sortEdges();
}

void Components::unite() {
  std::iota(parent.begin(), parent.end(), 0);
  int32_t rows = int32_t(problem.supply.size());
  for (const Edge &edge : problem.edges) {
    int32_t a = find(edge.row);
    int32_t b = find(rows + edge.col);
    // The lower root wins, so that a component's root is its lowest row.
    if (a < b)
      parent[b] = a;
    else
      parent[a] = b;
  }
}

int32_t Components::find(int32_t node) {
  while (parent[node] != node) {
    parent[node] = parent[parent[node]];
    node = parent[node];
  }
  return node;
}

void Components::sortEdges() {
  // Edges ascend by row, so the first edge of a component leaves its lowest
  // row: numbers are given in that order.
  std::vector<int32_t> number(problem.supply.size(), -1);
  std::vector<int32_t> componentOf;
  componentOf.reserve(problem.edges.size());
  edgeBegin.assign(1, 0);
  for (const Edge &edge : problem.edges) {
    int32_t &component = number[find(edge.row)];
    if (component < 0) {
      component = int32_t(edgeBegin.size() - 1);
      edgeBegin.push_back(0);
    }
    ++edgeBegin[component + 1];
    componentOf.push_back(component);
  }
  std::partial_sum(edgeBegin.begin(), edgeBegin.end(), edgeBegin.begin());

  edgeOrder.resize(problem.edges.size());
  std::vector<size_t> next(edgeBegin.begin(), edgeBegin.end() - 1);
  for (size_t e = 0; e < problem.edges.size(); ++e)
    edgeOrder[next[componentOf[e]]++] = e;
}

void Components::extract(size_t index, Component &component) {
  auto &[rows, cols, edges, local] = component;
  edges.assign(edgeOrder.begin() + edgeBegin[index],
               edgeOrder.begin() + edgeBegin[index + 1]);
  rows.clear();
  cols.clear();
  for (size_t e : edges)
    cols.push_back(problem.edges[e].col);
  std::sort(cols.begin(), cols.end());
  cols.erase(std::unique(cols.begin(), cols.end()), cols.end());
  for (size_t j = 0; j < cols.size(); ++j)
    localColumns[cols[j]] = int32_t(j);

  local.supply.clear();
  local.capacity.clear();
  local.edges.clear();
  for (size_t e : edges) {
    const Edge &edge = problem.edges[e];
    if (rows.empty() || rows.back() != edge.row) {
      rows.push_back(edge.row);
      local.supply.push_back(problem.supply[edge.row]);
    }
    local.edges.push_back(
        {int32_t(rows.size() - 1), localColumns[edge.col], edge.weight});
  }
  for (int32_t col : cols)
    local.capacity.push_back(problem.capacity[col]);
}

} // namespace etc::assignment
