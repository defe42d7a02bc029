// Elements by who needs and who holds them.

#ifndef ETC_ELEMENTS_H
#define ETC_ELEMENTS_H

#include "etc/Geometry.h"
#include "etc/Tolls.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace etc {

/// A box, whether it is needed or held, and by which of the groups of devices
/// that are told apart.
template <typename B> struct Mark {
  B box;
  bool isNeeded;
  int32_t group = 0;
};

/// Elements whose marks `counts` approves of, or each as often as it says, by a
/// sweep over an axis. Between two neighbouring ends of boxes the same boxes
/// are open: what they make up there is a question of the other axes.
template <typename B, typename Predicate>
int64_t countElements(std::vector<Mark<B>> marks, const Predicate &counts,
                      unsigned axis = 0) {
  auto isNeeded = [](const Mark<B> &mark) { return mark.isNeeded; };
  if (std::none_of(marks.begin(), marks.end(), isNeeded))
    return 0;
  if (axis == marks.front().box.rank())
    return counts(marks);
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
      total += (until - position) * countElements(open, counts, axis + 1);
    position = until;
  }
  return total;
}

/// Elements of needed boxes that no held one has.
template <typename B> int64_t countUncovered(std::vector<Mark<B>> marks) {
  return countElements(std::move(marks), [](const std::vector<Mark<B>> &open) {
    return std::all_of(open.begin(), open.end(),
                       [](const Mark<B> &mark) { return mark.isNeeded; });
  });
}

/// The tolls that an element pays at least, where groups are the numbers of
/// devices.
template <typename B>
int64_t countTollsOf(const std::vector<Mark<B>> &open, const TollCount &tolls) {
  TollCount::Set holders = 0, needers = 0;
  for (const Mark<B> &mark : open)
    (mark.isNeeded ? needers : holders) |= TollCount::Set{1} << mark.group;
  return tolls.count(holders, needers);
}

/// The groups of a bound on what leaves devices: an inner device each, the
/// others of a node, and all devices outside.
class LeavingGroups {
public:
  static constexpr int32_t kOutside = -1;

  int32_t of(int64_t node, int64_t device, bool isInner) {
    return numbers
        .try_emplace({node, isInner ? device : -1},
                     static_cast<int32_t>(numbers.size()))
        .first->second;
  }
  /// Has to be called once all groups are known.
  void finish() {
    nodes.resize(numbers.size());
    isInner.resize(numbers.size());
    for (const auto &[key, number] : numbers) {
      nodes[number] = key.first;
      isInner[number] = key.second >= 0;
    }
  }

  /// Whether an element has to leave: held inside alone, and needed outside or
  /// on a node that does not hold it; or held by inner devices alone.
  template <typename B> bool leaves(const std::vector<Mark<B>> &open) const {
    std::set<int64_t> holders, holdingNodes;
    bool isOfInner = true;
    for (const Mark<B> &mark : open) {
      if (mark.isNeeded)
        continue;
      if (mark.group == kOutside)
        return false;
      holders.insert(mark.group);
      holdingNodes.insert(nodes[mark.group]);
      isOfInner &= isInner[mark.group];
    }
    return std::any_of(open.begin(), open.end(), [&](const Mark<B> &mark) {
      return mark.isNeeded && (mark.group == kOutside ||
                               !holdingNodes.count(nodes[mark.group]) ||
                               (isOfInner && !holders.count(mark.group)));
    });
  }

private:
  std::map<std::pair<int64_t, int64_t>, int32_t> numbers;
  std::vector<int64_t> nodes; ///< [group]
  std::vector<bool> isInner;  ///< [group]
};

} // namespace etc

#endif // ETC_ELEMENTS_H
