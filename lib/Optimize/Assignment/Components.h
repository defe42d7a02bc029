// The connected components of a problem.

#ifndef ETC_LIB_OPTIMIZE_ASSIGNMENT_COMPONENTS_H
#define ETC_LIB_OPTIMIZE_ASSIGNMENT_COMPONENTS_H

#include "etc/Optimize/Assignment/Problem.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace etc::assignment {

/// A component as a problem of its own, its classes numbered from 0 in the
/// order of the whole. Index lists lead back: rows[i], cols[j] and edges[e] are
/// the places in the whole of the component's row i, column j and edge e.
struct Component {
  std::vector<int32_t> rows;
  std::vector<int32_t> cols;
  std::vector<size_t> edges;
  Problem problem;
};

/// Splits a problem; classes without edges belong to no component.
class Components {
public:
  explicit Components(const Problem &problem);

  size_t size() const { return edgeBegin.size() - 1; }

  /// Writes component `index` over `component`, whose memory is reused.
  /// Components are ordered by their lowest row.
  void extract(size_t index, Component &component);

private:
  void unite();
  int32_t find(int32_t node);
  void sortEdges();

  const Problem &problem;
  std::vector<int32_t> parent;       // [rows + columns], of the union-find
  std::vector<size_t> edgeBegin;     // [components + 1] into edgeOrder
  std::vector<size_t> edgeOrder;     // [edges] by component, then ascending
  std::vector<int32_t> localColumns; // [columns] numbers within a component
};

} // namespace etc::assignment

#endif // ETC_LIB_OPTIMIZE_ASSIGNMENT_COMPONENTS_H
