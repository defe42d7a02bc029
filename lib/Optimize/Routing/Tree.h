// One interval on its way from those who have it to all who get it.

#ifndef ETC_LIB_OPTIMIZE_ROUTING_TREE_H
#define ETC_LIB_OPTIMIZE_ROUTING_TREE_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace etc::routing {

/// A node or a device that gets the interval, at the device `entry`.
struct Receiver {
  int32_t entry;
  bool isFirst = false; ///< others wait for it
  /// The devices that send the interval on from there, one for each copy.
  std::vector<int32_t> senders;
};

struct TreeEdge {
  int32_t from;
  size_t receiver;
  int32_t depth; ///< of the receiver, from 1
};

/// Joins every receiver to a sender that has the interval: one of `roots`, or
/// one of a receiver that is joined already. There are as many senders as
/// receivers, and a root among them. Receivers with most senders come first, so
/// that one is always free, and the tree is as shallow as the senders allow.
std::vector<TreeEdge> growTree(const std::vector<int32_t> &roots,
                               const std::vector<Receiver> &receivers);

} // namespace etc::routing

#endif // ETC_LIB_OPTIMIZE_ROUTING_TREE_H
