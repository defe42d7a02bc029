// The first units of flows that a round may still take.

#ifndef ETC_LIB_OPTIMIZE_ROUNDS_HEADS_H
#define ETC_LIB_OPTIMIZE_ROUNDS_HEADS_H

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace etc::rounds {

/// The next unit of a flow.
struct Head {
  int64_t share; ///< of its flow, that is done when half of it is
  size_t unit;
  size_t flow;

  bool operator<(const Head &other) const {
    return share != other.share ? share < other.share : unit < other.unit;
  }
};

/// A heap, least first. std::priority_queue cannot replace its first element,
/// which is what happens to most of them.
class Heads {
public:
  void clear() { heap.clear(); }
  bool empty() const { return heap.empty(); }
  const Head &first() const { return heap.front(); }

  /// Without order, until `order` is called.
  void add(const Head &head) { heap.push_back(head); }
  void order() {
    for (size_t i = heap.size() / 2; i-- > 0;)
      sink(i, heap[i]);
  }
  void replaceFirst(const Head &head) { sink(0, head); }
  void removeFirst() {
    const Head last = heap.back();
    heap.pop_back();
    if (!heap.empty())
      sink(0, last);
  }

private:
  /// Puts `head` at `hole` or below.
  void sink(size_t hole, const Head head) {
    for (size_t child; (child = 2 * hole + 1) < heap.size(); hole = child) {
      if (child + 1 < heap.size() && heap[child + 1] < heap[child])
        ++child;
      if (!(heap[child] < head))
        break;
      heap[hole] = heap[child];
    }
    heap[hole] = head;
  }

  std::vector<Head> heap;
};

} // namespace etc::rounds

#endif // ETC_LIB_OPTIMIZE_ROUNDS_HEADS_H
