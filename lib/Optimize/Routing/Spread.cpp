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

/// Splits lots of resources that are slower than the target.
void Spread::divide(Time target, Order order) {
  std::vector<std::pair<size_t, std::vector<Share>>> late;
  auto redo = [&] {
    for (const auto &[number, before] : late)
      take(lots[number]);
    for (const auto &[number, before] : late)
      if (!divideLot(lots[number], target))
        for (auto [option, bytes] : before)
          put(lots[number], option, bytes);
    late.clear();
  };
  for (size_t number = 0; number < lots.size(); ++number) {
    const Lot &lot = lots[number];
    const std::vector<Option> &list = options[lot.options];
    if (std::any_of(lot.shares.begin(), lot.shares.end(),
                    [&](const Share &share) {
                      return roomOf(list[share.option].resource, target) < 0;
                    }))
      late.emplace_back(number, lot.shares);
    if (order == Order::InTurn)
      redo();
  }
  redo();
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
