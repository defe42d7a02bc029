#include "Inside.h"

#include "Layout.h"
#include "Spread.h"
#include "Tree.h"

#include <algorithm>

namespace etc::routing {
namespace {

class Inside {
public:
  Inside(const Problem &problem, const std::vector<Part> &parts, Time target);

  std::vector<Hop> hops;

private:
  void pose(const Part &part);
  void addHops(size_t number);
  void addTree(const Part &part, const std::vector<Layout> &layouts,
               int64_t begin, int64_t end);

  const Problem &problem;
  const std::vector<Part> &parts;
  std::vector<std::vector<int32_t>> lots; ///< [part]
  Spread links;
};

std::vector<int64_t> findRates(const Problem &problem) {
  std::vector<int64_t> rates;
  for (const Device &device : problem.devices)
    rates.push_back(device.linkRate);
  return rates;
}

Inside::Inside(const Problem &problem, const std::vector<Part> &parts,
               Time target)
    : problem(problem), parts(parts), links(findRates(problem)) {
  for (const Part &part : parts)
    pose(part);
  links.solve(target);
  for (size_t i = 0; i < parts.size(); ++i)
    addHops(i);
}

/// A lot for each copy, the first of which only the sources have.
void Inside::pose(const Part &part) {
  std::vector<Option> options;
  for (int32_t device : part.sources)
    options.push_back({device, device, 0});
  const int32_t first = links.addOptions(options);
  for (const auto *list : {&part.exits, &part.others})
    for (int32_t device : *list)
      options.push_back({device, device, 1});
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
                              const std::vector<Part> &parts, Time target) {
  return Inside(problem, parts, target).hops;
}

} // namespace etc::routing
