//===- Uncovered.h - Elements that some need and nobody holds ---*- C++ -*-===//

#ifndef ETC_LIB_VERIFY_UNCOVERED_H
#define ETC_LIB_VERIFY_UNCOVERED_H

#include "etc/Geometry.h"

#include <algorithm>
#include <limits>
#include <vector>

namespace etc {

/// A box, and whether it is needed or held.
template <typename B> struct Mark {
  B box;
  bool isNeeded;
};

/// Elements of needed boxes that no held one has, by a sweep over an axis.
/// Between two neighbouring ends of boxes the same boxes are open: what they
/// make up there is a question of the other axes.
template <typename B>
int64_t countUncovered(std::vector<Mark<B>> marks, unsigned axis = 0) {
  auto isNeeded = [](const Mark<B> &mark) { return mark.isNeeded; };
  if (std::none_of(marks.begin(), marks.end(), isNeeded))
    return 0;
  if (axis == marks.front().box.rank())
    return std::all_of(marks.begin(), marks.end(), isNeeded);
  std::sort(marks.begin(), marks.end(), [&](const auto &a, const auto &b) {
    return a.box[axis].begin < b.box[axis].begin;
  });
  std::vector<Mark<B>> open;
  int64_t total = 0, position = marks.front().box[axis].begin;
  for (size_t next = 0; next < marks.size() || !open.empty();) {
    while (next < marks.size() && marks[next].box[axis].begin <= position)
      open.push_back(marks[next++]);
    std::erase_if(open, [&](const Mark<B> &mark) {
      return mark.box[axis].end <= position;
    });
    int64_t until = next < marks.size() ? marks[next].box[axis].begin
                                        : std::numeric_limits<int64_t>::max();
    for (const Mark<B> &mark : open)
      until = std::min(until, mark.box[axis].end);
    if (!open.empty())
      total += (until - position) * countUncovered(open, axis + 1);
    position = until;
  }
  return total;
}

} // namespace etc

#endif // ETC_LIB_VERIFY_UNCOVERED_H
