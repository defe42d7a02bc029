// The Hungarian method on a square matrix.

#include "etc/Optimize/Assignment/Dense.h"

#include <cassert>
#include <limits>

namespace etc::assignment {
namespace {

constexpr int64_t kNone = -1;

class DenseSolver {
public:
  DenseSolver(int64_t size, std::span<const int64_t> costs)
      : size(size), costs(costs), rowPotential(size), columnPotential(size),
        rowOf(size, kNone), distance(size), parent(size), reached(size) {}

  std::vector<int64_t> run() {
    for (int64_t row = 0; row < size; ++row)
      augment(row);
    std::vector<int64_t> columnOf(size);
    for (int64_t column = 0; column < size; ++column)
      columnOf[rowOf[column]] = column;
    return columnOf;
  }

private:
  int64_t reducedCost(int64_t row, int64_t column) const {
    return costs[row * size + column] - rowPotential[row] -
           columnPotential[column];
  }

  /// Relaxes the columns that are not reached yet from `row`, which `from`
  /// leads to; returns the nearest, the lowest of equal ones.
  int64_t relax(int64_t row, int64_t from) {
    int64_t nearest = kNone;
    for (int64_t column = 0; column < size; ++column) {
      if (reached[column])
        continue;
      if (int64_t cost = reducedCost(row, column); cost < distance[column]) {
        distance[column] = cost;
        parent[column] = from;
      }
      if (nearest == kNone || distance[column] < distance[nearest])
        nearest = column;
    }
    return nearest;
  }

  /// Keeps reduced costs of what is reached at zero, and all others >= 0.
  void shift(int64_t root, int64_t delta) {
    rowPotential[root] += delta;
    for (int64_t column = 0; column < size; ++column)
      if (reached[column]) {
        rowPotential[rowOf[column]] += delta;
        columnPotential[column] -= delta;
      } else {
        distance[column] -= delta;
      }
  }

  /// Finds `root` a column, along the shortest path to a free one.
  void augment(int64_t root) {
    distance.assign(size, std::numeric_limits<int64_t>::max());
    reached.assign(size, false);
    int64_t row = root, column = kNone;
    while (true) {
      column = relax(row, column);
      shift(root, distance[column]);
      if (rowOf[column] == kNone)
        break;
      reached[column] = true;
      row = rowOf[column];
    }
    for (; parent[column] != kNone; column = parent[column])
      rowOf[column] = rowOf[parent[column]];
    rowOf[column] = root;
  }

  const int64_t size;
  const std::span<const int64_t> costs;
  std::vector<int64_t> rowPotential, columnPotential;
  std::vector<int64_t> rowOf; ///< [column] or kNone
  /// [column] Of the search at hand: the least reduced cost, and the column
  /// whose row it comes from, or kNone at the root.
  std::vector<int64_t> distance, parent;
  std::vector<bool> reached;
};

} // namespace

std::vector<int64_t> solveDense(int64_t size, std::span<const int64_t> costs) {
  assert(std::ssize(costs) == size * size && "costs are no square");
  return DenseSolver(size, costs).run();
}

} // namespace etc::assignment
