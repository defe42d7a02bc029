#include "Inside.h"

#include "Layout.h"
#include "Spread.h"
#include "SpreadFlow.h"
#include "Tree.h"

#include <algorithm>

namespace etc::routing {

__extension__ using Int128 = __int128;

namespace {

class Inside {
public:
  Inside(const Problem &problem, const std::vector<Part> &whole, Time target,
         Order order);

  std::vector<Hop> hops;

private:
  void divide(const std::vector<Part> &whole, Time target);
  void pose(const Part &part);
  void addHops(size_t number);
  void addTree(const Part &part, const std::vector<Layout> &layouts,
               int64_t begin, int64_t end);

  const Problem &problem;
  std::vector<Part> parts;
  std::vector<std::vector<int32_t>> lots; ///< [part]
  Spread links;
};

std::vector<int64_t> findRates(const Problem &problem) {
  std::vector<int64_t> rates;
  for (const Device &device : problem.devices)
    rates.push_back(device.linkRate);
  return rates;
}

Inside::Inside(const Problem &problem, const std::vector<Part> &whole,
               Time target, Order order)
    : problem(problem), links(findRates(problem)) {
  divide(whole, target);
  for (const Part &part : parts)
    pose(part);
  links.solve(target, order);
  for (size_t i = 0; i < parts.size(); ++i)
    addHops(i);
}

/// Where those who have a part would be late with it, each of the others gets a
/// stripe first and passes it on: scatter and all-gather, two hops instead of a
/// chain.
void Inside::divide(const std::vector<Part> &whole, Time target) {
  std::vector<Int128> owed(problem.devices.size());
  for (const Part &part : whole)
    for (int32_t device : part.sources)
      owed[device] += Int128(part.end - part.begin) *
                      int64_t(part.exits.size() + part.others.size()) /
                      int64_t(part.sources.size());
  auto isLate = [&](int32_t device) {
    return owed[device] > capacityOf(problem.devices[device].linkRate, target);
  };
  for (const Part &part : whole) {
    if (!part.exits.empty() || part.others.size() < 3 ||
        std::none_of(part.sources.begin(), part.sources.end(), isLate)) {
      parts.push_back(part);
      continue;
    }
    std::vector<std::pair<int32_t, int64_t>> shares;
    const int64_t bytes = part.end - part.begin;
    for (int32_t device : part.others)
      shares.emplace_back(device, bytes / int64_t(part.others.size()));
    Layout layout(shares, part.begin, part.end, problem.atoms[part.atom].grain);
    for (int64_t begin = part.begin; begin < part.end; begin = layout.end()) {
      layout.goTo(begin);
      Part &stripe = parts.emplace_back(part);
      stripe.begin = begin;
      stripe.end = layout.end();
      stripe.exits = {layout.device()};
      std::erase(stripe.others, layout.device());
    }
  }
}

/// A lot for each copy, the first of which only the sources have.
void Inside::pose(const Part &part) {
  std::vector<Option> options;
  for (int32_t device : part.sources)
    options.push_back({device, device, 0});
  const int32_t first = links.addOptions(options);
  // Those who have it first make the shallowest trees.
  for (int32_t device : part.exits)
    options.push_back({device, device, 1});
  for (int32_t device : part.others)
    options.push_back({device, device, 2});
  const size_t copies = part.exits.size() + part.others.size();
  std::vector<int32_t> &list = lots.emplace_back();
  const int64_t bytes = part.end - part.begin;
  list.push_back(links.addLot(first, bytes));
  if (copies == 1)
    return;
  const int32_t any = links.addOptions(std::move(options));
  for (size_t i = 1; i < copies; ++i)
    list.push_back(links.addLot(any, bytes));
}

void Inside::addHops(size_t number) {
  const Part &part = parts[number];
  const int64_t grain = problem.atoms[part.atom].grain;
  std::vector<Layout> layouts;
  for (int32_t lot : lots[number])
    layouts.emplace_back(links.partsOf(lot), part.begin, part.end, grain);
  for (int64_t begin = part.begin, end; begin < part.end; begin = end) {
    end = part.end;
    for (const Layout &layout : layouts)
      end = std::min(end, layout.end());
    addTree(part, layouts, begin, end);
    for (Layout &layout : layouts)
      layout.goTo(end);
  }
}

void Inside::addTree(const Part &part, const std::vector<Layout> &layouts,
                     int64_t begin, int64_t end) {
  std::vector<Receiver> receivers;
  for (int32_t device : part.exits)
    receivers.push_back({device, true, {}});
  for (int32_t device : part.others)
    receivers.push_back({device, false, {}});
  std::vector<int32_t> roots;
  for (const Layout &layout : layouts) {
    const int32_t device = layout.device();
    auto it =
        std::find_if(receivers.begin(), receivers.end(),
                     [&](const Receiver &to) { return to.entry == device; });
    (it == receivers.end() ? roots : it->senders).push_back(device);
  }
  for (const TreeEdge &edge : growTree(roots, receivers))
    hops.push_back(
        {part.atom, edge.from, receivers[edge.receiver].entry, 0, begin, end});
}

} // namespace

std::vector<Hop> spreadInside(const Problem &problem,
                              const std::vector<Part> &parts, Time target,
                              Order order) {
  return Inside(problem, parts, target, order).hops;
}

} // namespace etc::routing
