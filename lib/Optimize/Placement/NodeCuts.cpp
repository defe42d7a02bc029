// What enters nodes and leaves classes of nodes.

#include "NodeCuts.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace etc::placement {

using llvm::ArrayRef;
using llvm::SmallVector;

/// What a class does not share with others is at least what these together do
/// not hold.
NodeCuts::NodeCuts(const Problem &problem, const Entering &entering)
    : problem(problem), entering(entering), into(problem.nodeClass.size()),
      outOf(size_t(problem.onNode.getColumns())),
      needers(entering.lacking.size()), alone(entering.lacking.size()) {
  for (auto [content, lacking] : llvm::enumerate(entering.lacking)) {
    const int64_t bytes = entering.bytes[content];
    int64_t held = 0;
    for (int64_t lacks : lacking)
      held += bytes - lacks;
    for (auto [nodeClass, lacks] : llvm::enumerate(lacking))
      if (const int64_t others = held - (bytes - lacks); others < bytes)
        alone[content].push_back({int32_t(nodeClass), bytes - others, 0});
  }
}

/// What one class alone holds leaves it if a node of another needs it.
void NodeCuts::change(int32_t node, int32_t content, int32_t by) {
  const int32_t nodeClass = problem.nodeClass[size_t(node)];
  into[size_t(node)] +=
      by * entering.lacking[size_t(content)][size_t(nodeClass)];
  int32_t &all = needers[size_t(content)];
  for (Alone &own : alone[size_t(content)]) {
    const bool wasNeeded = all > own.needers;
    own.needers += own.nodeClass == nodeClass ? by : 0;
    const bool isNeeded = all + by > own.needers;
    outOf[size_t(own.nodeClass)] += (isNeeded - wasNeeded) * own.bytes;
  }
  all += by;
}

int64_t NodeCuts::countEntering() const {
  int64_t bytes = 0;
  for (int64_t ofNode : into)
    bytes += ofNode;
  return bytes;
}

/// A cut without NICs is as slow as can be: what takes part is not decided by
/// it.
template <typename Fn>
void NodeCuts::forCuts(ArrayRef<int64_t> nics, Fn fn) const {
  std::vector<int64_t> ofClass(outOf.size());
  for (auto [node, count] : llvm::enumerate(nics)) {
    ofClass[size_t(problem.nodeClass[node])] += count;
    if (into[node] > 0)
      fn(int64_t(llvm::divideCeil(into[node], std::max<int64_t>(count, 1))),
         int32_t(node), /*isInto=*/true);
  }
  for (auto [nodeClass, bytes] : llvm::enumerate(outOf))
    if (bytes > 0)
      fn(int64_t(
             llvm::divideCeil(bytes, std::max<int64_t>(ofClass[nodeClass], 1))),
         int32_t(nodeClass), /*isInto=*/false);
}

int64_t NodeCuts::findSlowest(ArrayRef<int64_t> nics) const {
  return std::get<0>(measure(nics));
}

std::tuple<int64_t, int64_t, int64_t>
NodeCuts::measure(ArrayRef<int64_t> nics) const {
  int64_t slowest = 0, alike = 0, sum = 0;
  forCuts(nics, [&](int64_t bytes, int32_t, bool) {
    sum += bytes;
    if (bytes > slowest)
      slowest = bytes, alike = 0;
    alike += bytes == slowest;
  });
  return {slowest, alike, sum};
}

SmallVector<int32_t> NodeCuts::findNodes(ArrayRef<int64_t> nics) const {
  int64_t slowest = 0;
  int32_t number = -1;
  bool isIn = true;
  forCuts(nics, [&](int64_t bytes, int32_t nodeOrClass, bool isInto) {
    if (bytes > slowest)
      slowest = bytes, number = nodeOrClass, isIn = isInto;
  });
  SmallVector<int32_t> nodes;
  if (isIn && number >= 0)
    return {number};
  for (auto [node, nodeClass] : llvm::enumerate(problem.nodeClass))
    if (!isIn && nodeClass == number)
      nodes.push_back(int32_t(node));
  return nodes;
}

} // namespace etc::placement
