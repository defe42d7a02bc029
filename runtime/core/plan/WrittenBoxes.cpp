// What is written of boxes of one holding.

#include "core/plan/RefereeRules.h"

#include <algorithm>

namespace etc::plan {

/// So many are looked through sooner than sorted.
static constexpr size_t kFew = 16;

std::vector<BoxView> boxesOf(std::span<const Write> writes) {
  std::vector<BoxView> boxes;
  boxes.reserve(writes.size());
  for (const Write &write : writes)
    boxes.push_back(write.box);
  return boxes;
}

WrittenBoxes::WrittenBoxes(std::span<const Write> writes) : writes(writes) {
  // Disjoint boxes without axes are one.
  if (writes.size() <= kFew)
    return;
  const unsigned axis = findSearchAxis(boxesOf(writes));
  sorted.assign(writes.begin(), writes.end());
  std::sort(sorted.begin(), sorted.end(), [&](const Write &a, const Write &b) {
    return a.box[axis].begin < b.box[axis].begin;
  });
  search.emplace(boxesOf(sorted));
  this->writes = sorted;
}

WrittenBoxes::Elements WrittenBoxes::count(BoxView box, uint32_t round) const {
  const auto [first, last] =
      search ? search->find(box) : std::pair(size_t(0), writes.size());
  Elements elements;
  for (const Write &write : writes.subspan(first, last - first))
    if (write.round < round)
      elements.before += sharedVolume(write.box, box);
    else if (write.round == round)
      elements.now += sharedVolume(write.box, box);
  return elements;
}

} // namespace etc::plan
