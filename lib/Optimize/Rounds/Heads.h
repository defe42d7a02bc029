// The first units of flows that a round may still take.

#ifndef ETC_LIB_OPTIMIZE_ROUNDS_HEADS_H
#define ETC_LIB_OPTIMIZE_ROUNDS_HEADS_H

#include <algorithm>
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

/// Least first. Most heads are held up in one round and the next: they wait in
/// order. Those that follow what is taken are a heap; std::priority_queue
/// cannot replace its first element, which is what happens to most of them.
class Heads {
public:
  Heads() = default;
  /// In any order.
  explicit Heads(std::vector<Head> all) : waiting(std::move(all)) {
    std::sort(waiting.begin(), waiting.end());
  }

  bool empty() const { return next == waiting.size() && heap.empty(); }
  const Head &first() const {
    return isInHeap() ? heap.front() : waiting[next];
  }

  /// By one that is greater, as are all that are still to come.
  void replaceFirst(const Head &head) {
    if (isInHeap())
      return sink(0, head);
    ++next;
    heap.push_back(head);
    std::push_heap(heap.begin(), heap.end(),
                   [](const Head &a, const Head &b) { return b < a; });
  }
  void removeFirst() {
    if (!isInHeap()) {
      ++next;
      return;
    }
    const Head last = heap.back();
    heap.pop_back();
    if (!heap.empty())
      sink(0, last);
  }
  /// The first waits for the next round.
  void holdUpFirst() {
    const Head head = first();
    removeFirst();
    waiting[heldUp++] = head; // they ascend, and are no more than were there
  }
  /// Once none is left in this round.
  void openRound() {
    waiting.resize(heldUp);
    next = heldUp = 0;
  }

private:
  bool isInHeap() const {
    return !heap.empty() &&
           (next == waiting.size() || heap.front() < waiting[next]);
  }
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

  std::vector<Head> waiting;
  size_t next = 0;   ///< of those that wait, the first to come in this round
  size_t heldUp = 0; ///< of those that wait, how many do for the next one
  std::vector<Head> heap;
};

} // namespace etc::rounds

#endif // ETC_LIB_OPTIMIZE_ROUNDS_HEADS_H
