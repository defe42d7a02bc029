// Successive shortest paths on one class graph.

#ifndef ETC_LIB_OPTIMIZE_ASSIGNMENT_SHORTESTPATHS_H
#define ETC_LIB_OPTIMIZE_ASSIGNMENT_SHORTESTPATHS_H

#include "etc/Optimize/Assignment/Solution.h"

#include <compare>
#include <cstddef>
#include <vector>

namespace etc::assignment {

/// Serves the rows one after the other, lowest first. All along, the duals are
/// feasible, edges with flow are tight (u + v = weight) and columns with room
/// have v = 0; when every row is either fully matched or has u = 0, that is
/// optimality. Works on any well-formed problem, and fastest on connected ones.
class ShortestPaths {
public:
  explicit ShortestPaths(const Problem &problem);

  Solution run();

private:
  static constexpr int32_t kNone = -1;

  /// A column to visit, `distance` of reduced weight away from the row that is
  /// being served.
  struct Visit {
    Weight distance;
    int32_t col;

    auto operator<=>(const Visit &) const = default;
  };

  /// Where the shortest path known so far ends: at a column with room, or at a
  /// row that gives up a unit of its flow (or takes none more, where it is the
  /// row being served).
  struct Target {
    Weight distance;
    int32_t col = kNone;
    int32_t row = kNone;
  };

  void indexColumns();
  void startDuals();
  void fillTightEdges(int32_t row);
  void serve(int32_t row);

  void search(int32_t source);
  void enterRow(int32_t row, Weight distance);
  void relax(size_t edge, Weight distance);
  void visitColumn(Visit visit);
  void offer(Target candidate);

  void updateDuals();
  int64_t bottleneck(int32_t source) const;
  void augment(int32_t source);

  const Problem &problem;
  std::vector<size_t> rowBegin; // [rows + 1] into the edges
  std::vector<size_t> colBegin; // [columns + 1] into colEdges
  std::vector<size_t> colEdges; // [edges] edges by column, ascending by row

  Solution solution;
  std::vector<int64_t> supplyLeft;
  std::vector<int64_t> room; // [columns]

  // One search. A class is reached where its stamp is the number of the search.
  uint64_t searchNumber = 0;
  Target target;
  std::vector<Visit> heap; // the nearest first, then the lowest
  std::vector<uint64_t> rowStamp, colStamp;
  std::vector<Weight> rowDistance, colDistance;
  std::vector<size_t> rowParent, colParent; // edges by which they were reached
  std::vector<int32_t> enteredRows;
  std::vector<int32_t> reachedCols;
};

} // namespace etc::assignment

#endif // ETC_LIB_OPTIMIZE_ASSIGNMENT_SHORTESTPATHS_H
