// Successive shortest paths over a network with hubs.

#ifndef ETC_LIB_OPTIMIZE_ASSIGNMENT_HUBPATHS_H
#define ETC_LIB_OPTIMIZE_ASSIGNMENT_HUBPATHS_H

#include "etc/Optimize/Assignment/Hubs.h"

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace etc::assignment {

/// A maximum-weight flow from rows to the sink, over row -> column, row -> hub
/// of rows -> hub of columns -> column, column -> sink and row -> sink (what
/// stays unmatched). All along, potentials p make reduced lengths p(a) - p(b) -
/// weight >= 0, and 0 on arcs with flow; p(sink) = 0. Then u = p of the rows
/// and v = -p of the columns are a certificate.
class HubPaths {
public:
  explicit HubPaths(const HubProblem &problem);

  HubSolution run();

private:
  using Node = int32_t;
  static constexpr size_t kNone = size_t(-1);

  /// Arcs come in pairs: 2k runs forward, 2k + 1 back. Back arcs have as much
  /// room as there is flow.
  struct Arc {
    Node from, to;
    int64_t room;
    Weight weight;
  };
  void addArc(Node from, Node to, int64_t room, Weight weight);
  void buildNetwork();
  void indexArcs();
  void startPotentials();

  void serve(Node row);
  bool search(Node source);
  void settle(Node node);
  Node nextNode();
  void updatePotentials();
  int64_t augment(Node source, int64_t limit);
  HubSolution read() const;
  int64_t flowOf(size_t arc) const { return arcs[arc ^ 1].room; }
  std::vector<std::pair<int32_t, int64_t>> flowInto(Node hub) const;

  const HubProblem &problem;
  int32_t rows, cols, rowHubs, colHubs;
  Node sink;
  std::vector<Arc> arcs;
  std::vector<size_t> begin; // [nodes + 1] into order
  std::vector<size_t> order; // arcs by the node they leave
  std::vector<Weight> potential;

  // One search.
  uint64_t searchNumber = 0;
  Weight current;         // distance of what is settled now
  std::vector<Node> near; // as far as `current`: the last one found first
  std::vector<std::pair<Weight, Node>> heap; // farther
  std::vector<uint64_t> reached, settled;    // numbers of searches
  std::vector<Weight> distance;
  std::vector<size_t> parent; // arcs
  std::vector<Node> touched;
};

} // namespace etc::assignment

#endif // ETC_LIB_OPTIMIZE_ASSIGNMENT_HUBPATHS_H
