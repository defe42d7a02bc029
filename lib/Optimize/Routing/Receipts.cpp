#include "Receipts.h"

#include <algorithm>

namespace etc::routing {

Receipts::Receipts(const Problem &problem, const std::vector<Hop> &hops)
    : problem(problem), all(problem.atoms.size()) {
  for (int direction = 0; direction < 2; ++direction)
    for (const Device &device : problem.devices)
      rates.push_back(device.linkRate);
  for (int direction = 0; direction < 2; ++direction)
    for (const Nic &nic : problem.nics)
      rates.push_back(nic.rate);
  loads.resize(rates.size());
  for (const Hop &hop : hops)
    add(hop.atom, hop.to, {hop.begin, hop.end, hop.from});
}

std::vector<int64_t> Receipts::findBreaks(size_t atom) const {
  std::vector<int64_t> breaks;
  for (const auto &[device, list] : all[atom])
    for (const Receipt &it : list)
      breaks.insert(breaks.end(), {it.begin, it.end});
  std::sort(breaks.begin(), breaks.end());
  breaks.erase(std::unique(breaks.begin(), breaks.end()), breaks.end());
  return breaks;
}

/// Cut wherever another one of the atom is: two that only partly depend on each
/// other would wait in a circle.
std::vector<Hop> Receipts::toHops() const {
  std::vector<Hop> hops;
  for (size_t atom = 0; atom < all.size(); ++atom) {
    const std::vector<int64_t> breaks = findBreaks(atom);
    for (const auto &[device, list] : all[atom])
      for (const Receipt &it : list)
        for (auto at = std::lower_bound(breaks.begin(), breaks.end(), it.begin);
             *at < it.end; ++at)
          hops.push_back(
              {int32_t(atom), it.from, device, 0, *at, *std::next(at)});
  }
  return hops;
}

std::pair<int32_t, int32_t> Receipts::resourcesOf(int32_t from,
                                                  int32_t to) const {
  const auto devices = int32_t(problem.devices.size()),
             nics = int32_t(problem.nics.size());
  if (problem.nodeOf(from) == problem.nodeOf(to))
    return {from, devices + to};
  return {2 * devices + problem.devices[from].nic,
          2 * devices + nics + problem.devices[to].nic};
}

Time Receipts::findSlowest() const {
  Time slowest;
  for (size_t i = 0; i < loads.size(); ++i)
    slowest = std::max(slowest, {loads[i], rates[i]});
  return slowest;
}

bool Receipts::holds(int32_t atom, int32_t device) const {
  const auto &set = problem.holdersOf(problem.atoms[atom]);
  return std::binary_search(set.begin(), set.end(), device);
}

bool Receipts::needs(int32_t atom, int32_t device) const {
  const auto &set = problem.needersOf(problem.atoms[atom]);
  return std::binary_search(set.begin(), set.end(), device);
}

/// The first receipt that ends behind a byte.
static std::vector<Receipt>::const_iterator
findFirst(const std::vector<Receipt> &list, int64_t byte) {
  return std::partition_point(list.begin(), list.end(), [&](const Receipt &it) {
    return it.end <= byte;
  });
}

int64_t Receipts::findReach(int32_t atom, int32_t device, int32_t other,
                            int64_t begin, int64_t end, int &depth) const {
  depth = 0;
  while (!holds(atom, device)) {
    auto list = all[atom].find(device);
    if (device == other || list == all[atom].end())
      return begin;
    auto it = findFirst(list->second, begin);
    if (it == list->second.end() || it->begin > begin)
      return begin;
    end = std::min(end, it->end);
    device = it->from;
    ++depth;
  }
  return device == other ? begin : end;
}

bool Receipts::isFree(int32_t atom, int32_t device, int64_t begin,
                      int64_t end) const {
  auto list = all[atom].find(device);
  if (list == all[atom].end())
    return !holds(atom, device);
  auto it = findFirst(list->second, begin);
  return it == list->second.end() || it->begin >= end;
}

void Receipts::load(int32_t from, int32_t to, int64_t bytes) {
  const auto [out, in] = resourcesOf(from, to);
  loads[out] += bytes;
  loads[in] += bytes;
}

void Receipts::add(int32_t atom, int32_t device, Receipt receipt) {
  load(receipt.from, device, receipt.end - receipt.begin);
  std::vector<Receipt> &list = all[atom][device];
  list.insert(findFirst(list, receipt.begin), receipt);
}

/// Takes [begin, end) out of what a device receives, and returns it.
std::vector<Receipt> Receipts::cutOut(int32_t atom, int32_t device,
                                      int64_t begin, int64_t end) {
  std::vector<Receipt> kept, removed;
  for (const Receipt &it : all[atom][device]) {
    const Receipt inside = {std::max(it.begin, begin), std::min(it.end, end),
                            it.from};
    if (inside.begin >= inside.end) {
      kept.push_back(it);
      continue;
    }
    removed.push_back(inside);
    load(it.from, device, inside.begin - inside.end);
    if (it.begin < inside.begin)
      kept.push_back({it.begin, inside.begin, it.from});
    if (inside.end < it.end)
      kept.push_back({inside.end, it.end, it.from});
  }
  all[atom][device] = std::move(kept);
  return removed;
}

/// What a device in transit passes on to nobody it does not receive.
void Receipts::prune(int32_t atom, int32_t device, int64_t begin, int64_t end) {
  if (holds(atom, device) || needs(atom, device))
    return;
  std::vector<std::pair<int64_t, int64_t>> used;
  for (const auto &[receiver, list] : all[atom])
    for (auto it = findFirst(list, begin); it != list.end() && it->begin < end;
         ++it)
      if (it->from == device)
        used.emplace_back(it->begin, it->end);
  std::sort(used.begin(), used.end());
  used.emplace_back(end, end);
  for (auto [first, last] : used) {
    if (begin < std::min(first, end))
      for (const Receipt &it :
           cutOut(atom, device, begin, std::min(first, end)))
        prune(atom, it.from, it.begin, it.end);
    begin = std::max(begin, last);
  }
}

void Receipts::replace(int32_t atom, int32_t device, Receipt receipt) {
  const std::vector<Receipt> before =
      cutOut(atom, device, receipt.begin, receipt.end);
  add(atom, device, receipt);
  for (const Receipt &it : before)
    prune(atom, it.from, it.begin, it.end);
}

} // namespace etc::routing
