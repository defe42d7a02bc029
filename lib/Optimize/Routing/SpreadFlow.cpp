#include "SpreadFlow.h"

#include <algorithm>

namespace etc::routing {

SpreadFlow::SpreadFlow(Spread &spread)
    : spread(spread), lotsOf(spread.rates.size()),
      capacity(spread.rates.size()) {}

/// The bytes of a lot that a resource carries, as the number of a share.
static size_t findShare(const Lot &lot, const std::vector<Option> &options,
                        int32_t resource) {
  size_t i = 0;
  while (i < lot.shares.size() &&
         (options[lot.shares[i].option].resource != resource ||
          lot.shares[i].bytes == 0))
    ++i;
  return i;
}

bool SpreadFlow::findDistances() {
  ofResource.assign(spread.rates.size(), kFar);
  ofLot.assign(spread.lots.size(), kFar);
  nextLot.assign(spread.rates.size(), 0);
  nextOption.assign(spread.lots.size(), 0);
  std::vector<int32_t> reached;
  for (size_t i = 0; i < capacity.size(); ++i)
    if (spread.loads[i] > capacity[i]) {
      ofResource[i] = 0;
      reached.push_back(int32_t(i));
    }
  bool isRelieved = false;
  for (size_t next = 0; next < reached.size(); ++next) {
    const int32_t resource = reached[next];
    for (int32_t number : lotsOf[resource]) {
      const Lot &lot = spread.lots[number];
      const auto &options = spread.options[lot.options];
      if (ofLot[number] != kFar ||
          findShare(lot, options, resource) == lot.shares.size())
        continue;
      ofLot[number] = ofResource[resource];
      for (const Option &option : options)
        if (ofResource[option.resource] == kFar) {
          ofResource[option.resource] = ofResource[resource] + 1;
          isRelieved |=
              spread.loads[option.resource] < capacity[option.resource];
          reached.push_back(option.resource);
        }
    }
  }
  return isRelieved;
}

int64_t SpreadFlow::pushInto(int32_t number, size_t share, int64_t bytes) {
  Lot &lot = spread.lots[number];
  const auto &options = spread.options[lot.options];
  for (size_t &next = nextOption[number]; next < options.size(); ++next) {
    const int32_t resource = options[next].resource;
    if (ofResource[resource] != ofLot[number] + 1)
      continue;
    const int64_t pushed =
        push(resource, std::min(bytes, lot.shares[share].bytes));
    if (pushed == 0)
      continue;
    lot.shares[share].bytes -= pushed;
    auto same = std::find_if(
        lot.shares.begin(), lot.shares.end(),
        [&](const Share &it) { return it.option == int32_t(next); });
    if (same == lot.shares.end())
      lot.shares.push_back({int32_t(next), pushed});
    else
      same->bytes += pushed;
    return pushed;
  }
  return 0;
}

/// Passes up to `bytes` on to a resource with room; returns how many.
int64_t SpreadFlow::push(int32_t resource, int64_t bytes) {
  if (const int64_t room = capacity[resource] - spread.loads[resource];
      room > 0) {
    bytes = std::min(bytes, room);
    spread.loads[resource] += bytes;
    return bytes;
  }
  for (size_t &next = nextLot[resource]; next < lotsOf[resource].size();
       ++next) {
    const int32_t lot = lotsOf[resource][next];
    if (ofLot[lot] != ofResource[resource])
      continue;
    const size_t share = findShare(
        spread.lots[lot], spread.options[spread.lots[lot].options], resource);
    if (share == spread.lots[lot].shares.size())
      continue;
    if (const int64_t pushed = pushInto(lot, share, bytes))
      return pushed;
  }
  return 0;
}

/// Whether all are within their capacities then.
bool SpreadFlow::relieve() {
  while (findDistances())
    for (size_t i = 0; i < capacity.size(); ++i)
      while (spread.loads[i] > capacity[i]) {
        const int64_t pushed = push(int32_t(i), spread.loads[i] - capacity[i]);
        if (pushed == 0)
          break;
        spread.loads[i] -= pushed;
      }
  for (size_t i = 0; i < capacity.size(); ++i)
    if (spread.loads[i] > capacity[i])
      return false;
  return true;
}

Time SpreadFlow::findMean() const {
  Time mean{0, 0};
  for (size_t i = 0; i < capacity.size(); ++i)
    if (ofResource[i] != kFar) {
      mean.bytes += spread.loads[i];
      mean.rate += spread.rates[i];
    }
  return mean;
}

void SpreadFlow::settle(Time time) {
  auto setCapacities = [&] {
    bool isLate = false;
    for (size_t i = 0; i < capacity.size(); ++i) {
      capacity[i] = capacityOf(spread.rates[i], time);
      isLate |= spread.loads[i] > capacity[i];
    }
    return isLate;
  };
  if (!setCapacities())
    return;
  for (size_t number = 0; number < spread.lots.size(); ++number)
    for (const Option &option : spread.options[spread.lots[number].options])
      lotsOf[option.resource].push_back(int32_t(number));
  while (!relieve()) {
    time = findMean();
    setCapacities();
  }
}

} // namespace etc::routing
