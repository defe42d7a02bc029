#include "OpenUnits.h"

#include "Ledger.h"

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

namespace etc::rounds {

/// All that Ledger::overflow looks at.
static std::vector<std::pair<int32_t, int64_t>>
listAllocated(const Unit &unit) {
  std::vector<std::pair<int32_t, int64_t>> allocated;
  for (const Touch &touch : unit.touches)
    if (touch.allocated)
      allocated.emplace_back(touch.deviceClass, touch.allocated);
  return allocated;
}

void OpenUnits::findKinds(const std::vector<Unit> &all) {
  kinds.clear();
  listed.clear();
  kindOf.resize(all.size());
  std::map<std::vector<std::pair<int32_t, int64_t>>, uint32_t> byAllocated;
  std::map<const Touch *, uint32_t> byList; // most units share theirs
  for (size_t i = 0; i < all.size(); ++i) {
    const auto [list, isNewList] =
        byList.try_emplace(std::as_const(all[i].touches).begin());
    if (isNewList) {
      const auto [kind, isNew] = byAllocated.try_emplace(
          listAllocated(all[i]), uint32_t(kinds.size()));
      if (isNew)
        kinds.push_back({i, {}});
      list->second = kind->second;
    }
    kindOf[i] = list->second;
  }
}

void OpenUnits::listWaiting(const std::vector<Unit> &all) {
  firstWaiting.assign(all.size() + 1, 0);
  for (const Unit &it : all)
    for (const int32_t other : {it.before, it.after})
      if (other >= 0)
        ++firstWaiting[size_t(other)];
  std::partial_sum(firstWaiting.begin(), firstWaiting.end(),
                   firstWaiting.begin());
  waiting.resize(firstWaiting.back());
  for (size_t i = 0; i < all.size(); ++i)
    for (const int32_t other : {all[i].before, all[i].after})
      if (other >= 0)
        waiting[--firstWaiting[size_t(other)]] = uint32_t(i);
}

void OpenUnits::fill(const std::vector<Unit> &all,
                     const std::vector<int32_t> &roundOf, bool isTail) {
  constexpr int8_t staysClosed = 3;
  units = &all;
  findKinds(all);
  listWaiting(all);
  isTaken.resize(all.size());
  waits.assign(all.size(), 0);
  for (size_t i = 0; i < all.size(); ++i)
    isTaken[i] = roundOf[i] >= 0;
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].isDeferred && !isTail)
      waits[i] = staysClosed;
    for (const int32_t other : {all[i].before, all[i].after})
      if (other >= 0 && !isTaken[size_t(other)])
        ++waits[i];
    if (waits[i] == 0 && !isTaken[i])
      add(i);
  }
}

void OpenUnits::add(size_t unit) {
  Kind &kind = kinds[kindOf[unit]];
  kind.open.push_back(unit);
  std::push_heap(kind.open.begin(), kind.open.end(), std::greater<>());
  if (!std::exchange(kind.isListed, true))
    listed.push_back(kindOf[unit]);
}

void OpenUnits::take(size_t unit) {
  isTaken[unit] = true;
  for (uint32_t i = firstWaiting[unit]; i < firstWaiting[unit + 1]; ++i)
    if (--waits[waiting[i]] == 0)
      add(waiting[i]);
}

size_t OpenUnits::findLeastOverflow(const Ledger &ledger) {
  std::optional<std::pair<int64_t, size_t>> best;
  for (size_t i = 0; i < listed.size();) {
    auto &[first, open, isListed] = kinds[listed[i]];
    while (!open.empty() && isTaken[open.front()]) {
      std::pop_heap(open.begin(), open.end(), std::greater<>());
      open.pop_back();
    }
    if (open.empty()) {
      isListed = false;
      listed[i] = listed.back();
      listed.pop_back();
      continue;
    }
    ++i;
    const std::pair candidate(ledger.overflow((*units)[first]), open.front());
    if (!best || candidate < *best)
      best = candidate;
  }
  return best->second;
}

} // namespace etc::rounds
