#include "Tree.h"

#include <algorithm>
#include <cassert>
#include <numeric>
#include <utility>

namespace etc::routing {

std::vector<TreeEdge> growTree(const std::vector<int32_t> &roots,
                               const std::vector<Receiver> &receivers) {
  std::vector<size_t> order(receivers.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const Receiver &one = receivers[a], &other = receivers[b];
    if (one.senders.size() != other.senders.size())
      return one.senders.size() > other.senders.size();
    return one.isFirst && !other.isFirst;
  });
  // Senders in the order in which they have it, with their depth.
  std::vector<std::pair<int32_t, int32_t>> free;
  free.reserve(roots.size() + receivers.size());
  for (int32_t root : roots)
    free.emplace_back(root, 0);
  std::vector<TreeEdge> edges;
  for (size_t number : order) {
    assert(edges.size() < free.size() && "no sender is left");
    const auto [from, depth] = free[edges.size()];
    edges.push_back({from, number, depth + 1});
    for (int32_t sender : receivers[number].senders)
      free.emplace_back(sender, depth + 1);
  }
  return edges;
}

} // namespace etc::routing
