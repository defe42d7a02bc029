// LEMON on the class graph: rows supply, columns take up to their capacity, and
// a node takes what stays unmatched.

#include "LemonFlow.h"

#include <lemon/cost_scaling.h>
#include <lemon/network_simplex.h>
#include <lemon/smart_graph.h>

#include <algorithm>
#include <numeric>
#include <stdexcept>

using namespace etc::bench;
using lemon::SmartDigraph;

struct LemonFlow::Graph {
  SmartDigraph digraph;
  std::vector<int64_t> supply;
  std::vector<SmartDigraph::Node> rows, columns;
  SmartDigraph::Node sink;
  SmartDigraph::ArcMap<int64_t> capacity{digraph}, cost{digraph};
  SmartDigraph::NodeMap<int64_t> balance{digraph};

  void add(SmartDigraph::Node from, SmartDigraph::Node to, int64_t most,
           int64_t price) {
    SmartDigraph::Arc arc = digraph.addArc(from, to);
    capacity[arc] = most;
    cost[arc] = price;
  }
};

LemonFlow::LemonFlow(const std::vector<int64_t> &supply,
                     const std::vector<int64_t> &capacity)
    : graph(new Graph) {
  graph->supply = supply;
  for (size_t row = 0; row < supply.size(); ++row)
    graph->rows.push_back(graph->digraph.addNode());
  for (size_t column = 0; column < capacity.size(); ++column)
    graph->columns.push_back(graph->digraph.addNode());
  graph->sink = graph->digraph.addNode();
  for (size_t row = 0; row < supply.size(); ++row) {
    graph->balance[graph->rows[row]] = supply[row];
    graph->add(graph->rows[row], graph->sink, supply[row], 0);
  }
  for (size_t column = 0; column < capacity.size(); ++column)
    graph->add(graph->columns[column], graph->sink, capacity[column], 0);
  graph->balance[graph->sink] =
      -std::accumulate(supply.begin(), supply.end(), int64_t(0));
}

LemonFlow::~LemonFlow() = default;

void LemonFlow::addEdge(int row, int column, int64_t weight) {
  graph->add(graph->rows[row], graph->columns[column], graph->supply[row],
             -weight);
}

template <typename Solver> static int64_t run(Solver &solver) {
  if (solver.run() != Solver::OPTIMAL)
    throw std::runtime_error("LEMON finds no optimum");
  return -solver.template totalCost<int64_t>();
}

int64_t LemonFlow::solve(LemonMethod method) {
  Graph &g = *graph;
  if (method == LemonMethod::NetworkSimplex) {
    lemon::NetworkSimplex<SmartDigraph, int64_t> solver(g.digraph);
    solver.upperMap(g.capacity).costMap(g.cost).supplyMap(g.balance);
    return run(solver);
  }
  lemon::CostScaling<SmartDigraph, int64_t> solver(g.digraph);
  solver.upperMap(g.capacity).costMap(g.cost).supplyMap(g.balance);
  return run(solver);
}
