//===- NodeSearch.h - Choosing the nodes that leave -----------*- C++ -*-===//
//
// Nodes with as many usable devices, which hold the same roles in the same
// order, are interchangeable: a choice is how many of each class leave.
// docs/which-nodes.md has the model.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_LIB_PLANNER_NODESEARCH_H
#define ETC_LIB_PLANNER_NODESEARCH_H

#include "etc/Transforms/TryPlacement.h"

#include <map>
#include <optional>
#include <vector>

namespace etc {

/// How many nodes of each class leave.
using NodeChoice = std::vector<int64_t>;

class NodeSearch {
public:
  NodeSearch(PlacementTrials &trials, Place place, bool totalFirst);

  /// Tries every way to choose `count` nodes where there are no more than the
  /// limit, else what a packed placement leaves free, a greedy choice, and
  /// their improvements by exchanges. Stops when `enough` choices reach
  /// `bound`, than which none is better.
  void run(int64_t count, const Volumes &bound, size_t enough);

  /// The classes: nodes, ascending.
  const std::vector<std::vector<int64_t>> &getClasses() const {
    return classes;
  }
  int64_t getTried() const { return tried.size(); }
  /// Whether no choice is better than the best one that was found.
  bool isComplete() const { return choices <= limit || reached > 0; }
  /// The best choices that have a plan, best first.
  std::vector<std::pair<NodeChoice, Volumes>> best(size_t count) const;

  /// The nodes of a choice: of each class the highest.
  std::vector<int64_t> nodesOf(const NodeChoice &choice) const;
  std::vector<int64_t> devicesOf(const NodeChoice &choice) const;
  /// How many sets of nodes are as good as this one by symmetry.
  double alike(const NodeChoice &choice) const;

private:
  using Cost = std::pair<int64_t, int64_t>;
  Cost costOf(const Volumes &volumes) const;
  /// None where there is no plan, which is worse than any cost.
  std::optional<Cost> tryChoice(const NodeChoice &choice);
  void tryAll(NodeChoice &choice, size_t from, int64_t left);
  NodeChoice grow(int64_t count);
  NodeChoice leaveFree(int64_t count);
  void improve(NodeChoice choice);
  bool improveOnce(NodeChoice &choice);
  bool isEnough() const { return reached >= enough; }
  size_t classOf(int64_t node) const;

  PlacementTrials &trials;
  Place place;
  bool totalFirst;
  std::vector<std::vector<int64_t>> classes;
  std::vector<int64_t> firstDevice; ///< [node], and the end
  int64_t limit;                    ///< so many choices are tried
  int64_t choices = 0; ///< all there are by class; limit + 1 stands for more
  int64_t count = 0;
  Cost bound;
  size_t enough = 0, reached = 0; ///< choices at the bound
  std::map<NodeChoice, std::optional<Volumes>> tried;
};

} // namespace etc

#endif // ETC_LIB_PLANNER_NODESEARCH_H
