#include "Spread.h"

#include "SpreadFlow.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace etc::routing {

__extension__ using Int128 = __int128;

/// A lot is split among at most so many devices before the flow sees it.
static constexpr int64_t mostParts = 64;

int64_t capacityOf(int64_t rate, Time time) {
  return static_cast<int64_t>((Int128(time.bytes) * rate + time.rate - 1) /
                              time.rate);
}

int64_t Spread::roomOf(int32_t resource, Time target) const {
  return capacityOf(rates[resource], target) - loads[resource];
}

void Spread::put(Lot &lot, int32_t option, int64_t bytes) {
  if (bytes == 0)
    return;
  loads[options[lot.options][option].resource] += bytes;
  lot.shares.push_back({option, bytes});
}

void Spread::take(Lot &lot) {
  for (auto [option, bytes] : lot.shares)
    loads[options[lot.options][option].resource] -= bytes;
  lot.shares.clear();
}

/// Each lot on the first tier, those with the least choice first, where it is
/// done soonest.
void Spread::putWhole() {
  std::vector<size_t> order(lots.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::tuple(options[lots[a].options].size(), -lots[a].bytes) <
           std::tuple(options[lots[b].options].size(), -lots[b].bytes);
  });
  for (size_t number : order) {
    Lot &lot = lots[number];
    const std::vector<Option> &list = options[lot.options];
    int32_t best = 0;
    Time bestEnd;
    for (int32_t i = 0; i < int32_t(list.size()); ++i) {
      const int32_t resource = list[i].resource;
      if (list[i].tier != list.front().tier)
        break;
      const Time end{loads[resource] + lot.bytes, rates[resource]};
      if (i == 0 || end < bestEnd) {
        best = i;
        bestEnd = end;
      }
    }
    put(lot, best, lot.bytes);
  }
}

/// Evenly among as few options as have room for it.
bool Spread::divideLot(Lot &lot, Time target) {
  const std::vector<Option> &list = options[lot.options];
  std::vector<int32_t> order(list.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    if (list[a].tier != list[b].tier)
      return list[a].tier < list[b].tier;
    const int32_t one = list[a].resource, other = list[b].resource;
    return Time{loads[one], rates[one]} < Time{loads[other], rates[other]};
  });
  const int64_t most = std::min<int64_t>(mostParts, int64_t(list.size()));
  for (int64_t count = 1; count <= most; ++count) {
    const int64_t each = (lot.bytes + count - 1) / count;
    std::vector<int64_t> taken(count);
    std::vector<int32_t> chosen;
    for (int32_t option : order) {
      // Devices that share a NIC share its room.
      const int32_t resource = list[option].resource;
      const int64_t shared =
          std::count_if(chosen.begin(), chosen.end(), [&](int32_t other) {
            return list[other].resource == resource;
          });
      if (roomOf(resource, target) < each * (shared + 1))
        continue;
      chosen.push_back(option);
      if (int64_t(chosen.size()) == count)
        break;
    }
    if (int64_t(chosen.size()) < count)
      continue;
    std::sort(chosen.begin(), chosen.end(), [&](int32_t a, int32_t b) {
      return list[a].device < list[b].device;
    });
    int64_t left = lot.bytes;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t bytes = left / (count - i);
      put(lot, chosen[i], bytes);
      left -= bytes;
    }
    return true;
  }
  return false;
}

bool Spread::isLate(const Lot &lot, Time target) const {
  return std::any_of(
      lot.shares.begin(), lot.shares.end(), [&](const Share &share) {
        return roomOf(options[lot.options][share.option].resource, target) < 0;
      });
}

std::vector<size_t> Spread::findLate(Time target) const {
  std::vector<size_t> numbers;
  for (size_t number = 0; number < lots.size(); ++number)
    if (isLate(lots[number], target))
      numbers.push_back(number);
  return numbers;
}

int64_t Spread::countFirstTier(const Lot &lot) const {
  const std::vector<Option> &list = options[lot.options];
  return std::count_if(list.begin(), list.end(), [&](const Option &it) {
    return it.tier == list.front().tier;
  });
}

/// Those that are late, and those that take room that these could use. Those
/// with the least choice come first.
std::vector<size_t> Spread::findByChoice(Time target) const {
  std::vector<bool> isWanted(rates.size());
  for (size_t number : findLate(target))
    for (const Option &option : options[lots[number].options])
      isWanted[option.resource] = true;
  std::vector<std::pair<int64_t, size_t>> found;
  for (size_t number = 0; number < lots.size(); ++number) {
    const Lot &lot = lots[number];
    if (std::any_of(
            lot.shares.begin(), lot.shares.end(), [&](const Share &share) {
              return isWanted[options[lot.options][share.option].resource];
            }))
      found.emplace_back(countFirstTier(lot), number);
  }
  std::sort(found.begin(), found.end());
  std::vector<size_t> numbers;
  for (auto [choice, number] : found)
    numbers.push_back(number);
  return numbers;
}

/// All make room, then each is divided, or put back where that fails.
void Spread::divideLots(const std::vector<size_t> &numbers, Time target) {
  std::vector<std::vector<Share>> before;
  for (size_t number : numbers) {
    before.push_back(lots[number].shares);
    take(lots[number]);
  }
  for (size_t i = 0; i < numbers.size(); ++i) {
    Lot &lot = lots[numbers[i]];
    if (!divideLot(lot, target))
      for (auto [option, bytes] : before[i])
        put(lot, option, bytes);
  }
}

/// Splits lots of resources that are slower than the target.
void Spread::divide(Time target, Order order) {
  switch (order) {
  case Order::InTurn:
    for (size_t number = 0; number < lots.size(); ++number)
      if (isLate(lots[number], target))
        divideLots({number}, target);
    return;
  case Order::Together:
    return divideLots(findLate(target), target);
  case Order::ByChoice:
    return divideLots(findByChoice(target), target);
  }
}

void Spread::solve(Time target, Order order) {
  putWhole();
  divide(target, order);
  SpreadFlow(*this).settle(target);
}

std::vector<std::pair<int32_t, int64_t>> Spread::partsOf(int32_t lot) const {
  std::vector<std::pair<int32_t, int64_t>> parts;
  for (auto [option, bytes] : lots[lot].shares)
    if (bytes > 0)
      parts.emplace_back(options[lots[lot].options][option].device, bytes);
  std::sort(parts.begin(), parts.end());
  return parts;
}

} // namespace etc::routing
