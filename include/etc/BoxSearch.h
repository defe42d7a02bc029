//===- BoxSearch.h - Which boxes another one may meet -----------*- C++ -*-===//

#ifndef ETC_BOXSEARCH_H
#define ETC_BOXSEARCH_H

#include "etc/Geometry.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace etc {

/// The axis along which boxes of one tensor have the most different begins:
/// where they are sorted along it, another one meets neighbors.
template <typename Boxes> unsigned findSearchAxis(const Boxes &boxes) {
  unsigned axis = 0;
  size_t most = 0;
  std::vector<int64_t> begins;
  for (unsigned candidate = 0; candidate < boxes[0].rank(); ++candidate) {
    begins.clear();
    for (const auto &box : boxes)
      begins.push_back(box[candidate].begin);
    if (std::equal(begins.begin() + 1, begins.end(), begins.begin()))
      continue; // as along most axes
    std::sort(begins.begin(), begins.end());
    const auto count =
        size_t(std::unique(begins.begin(), begins.end()) - begins.begin());
    if (count > most) {
      axis = candidate;
      most = count;
    }
  }
  return axis;
}

/// Finds, among sorted boxes of one tensor, those that another one may meet:
/// hundreds of ranks hold a tensor, and a program writes one in hundreds of
/// parts, of which a box meets a few.
class BoxSearch {
public:
  /// Of a random-access range of boxes that have axes, and ascend, or their
  /// begins along one axis do.
  template <typename Boxes> explicit BoxSearch(const Boxes &sorted) {
    if (sorted.empty())
      return;
    size_t most = 0;
    for (unsigned candidate = 0; candidate < sorted[0].rank(); ++candidate)
      if (const size_t count = countBegins(sorted, candidate); count > most) {
        axis = candidate;
        most = count;
      }
    begins.reserve(sorted.size());
    reached.reserve(sorted.size());
    for (const auto &box : sorted) {
      const int64_t end = box[axis].end;
      begins.push_back(box[axis].begin);
      reached.push_back(reached.empty() ? end : std::max(reached.back(), end));
    }
  }

  /// Places [first, last) outside of which no box meets this one.
  template <BoxLike B> std::pair<size_t, size_t> find(const B &box) const {
    const Span span = box[axis];
    const auto first =
        std::partition_point(reached.begin(), reached.end(),
                             [&](int64_t end) { return end <= span.begin; });
    const auto last =
        std::partition_point(begins.begin(), begins.end(),
                             [&](int64_t begin) { return begin < span.end; });
    const size_t from = first - reached.begin(), to = last - begins.begin();
    return {std::min(from, to), to};
  }

private:
  /// How many begins there are along an axis, or 0 where they descend.
  template <typename Boxes>
  static size_t countBegins(const Boxes &boxes, unsigned axis) {
    size_t count = 1;
    for (size_t i = 1; i < boxes.size(); ++i) {
      if (boxes[i][axis].begin < boxes[i - 1][axis].begin)
        return 0;
      count += boxes[i][axis].begin != boxes[i - 1][axis].begin;
    }
    return count;
  }

  /// The axis with the most different begins, of those that do not descend.
  unsigned axis = 0;
  std::vector<int64_t> begins;
  /// [place] where the last of the boxes up to here ends.
  std::vector<int64_t> reached;
};

} // namespace etc

#endif // ETC_BOXSEARCH_H
