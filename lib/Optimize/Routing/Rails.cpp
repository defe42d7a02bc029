#include "Rails.h"

#include "Tree.h"

#include <algorithm>

namespace etc::routing {

static std::vector<int64_t> findRates(const Problem &problem) {
  std::vector<int64_t> rates;
  for (const Nic &nic : problem.nics)
    rates.push_back(nic.rate);
  return rates;
}

static bool isIn(const std::vector<int32_t> &list, int32_t device) {
  return std::find(list.begin(), list.end(), device) != list.end();
}

Rails::Rails(const Problem &problem, Time target, Order order)
    : problem(problem), participants(findParticipants(problem)),
      lots(problem.atoms.size()), in(findRates(problem)),
      out(findRates(problem)) {
  for (const Atom &atom : problem.atoms)
    nodes.push_back(findNodes(problem, atom));
  for (size_t atom = 0; atom < nodes.size(); ++atom) {
    poseEntries(atom);
    poseCopies(atom);
  }
  in.solve(target, order);
  out.solve(target, order);
  for (size_t atom = 0; atom < nodes.size(); ++atom)
    stripe(atom);
}

/// A lot for each node that lacks the atom.
void Rails::poseEntries(size_t atom) {
  for (size_t i = 0; i < nodes[atom].size(); ++i) {
    const NodeShare &share = nodes[atom][i];
    if (!share.lacks())
      continue;
    std::vector<Option> options;
    for (int32_t device : share.needers)
      options.push_back({device, problem.devices[device].nic, 0});
    if (problem.mayTransit(problem.atoms[atom]))
      for (int32_t device : participants[share.node])
        if (!isIn(share.needers, device))
          options.push_back({device, problem.devices[device].nic, 1});
    lots[atom].entries.emplace_back(i,
                                    in.addLot(in.addOptions(std::move(options)),
                                              problem.atoms[atom].bytes));
  }
}

/// Who can send an atom off a node: holders, those who need it themselves, and
/// those who neither have nor need it.
std::vector<Option> Rails::exitsOf(const NodeShare &share,
                                   bool mayTransit) const {
  std::vector<Option> options;
  for (int32_t device : share.holders)
    options.push_back({device, problem.devices[device].nic, 0});
  for (int32_t device : share.needers)
    options.push_back({device, problem.devices[device].nic, 1});
  if (mayTransit)
    for (int32_t device : participants[share.node])
      if (!isIn(share.holders, device) && !isIn(share.needers, device))
        options.push_back({device, problem.devices[device].nic, 2});
  return options;
}

/// A lot for each copy that has to leave a node. The first leaves one that
/// holds the atom.
void Rails::poseCopies(size_t atom) {
  const size_t count = lots[atom].entries.size();
  if (count == 0)
    return;
  std::vector<Option> first, any;
  for (const NodeShare &share : nodes[atom]) {
    std::vector<Option> exits =
        exitsOf(share, problem.mayTransit(problem.atoms[atom]));
    if (!share.lacks())
      first.insert(first.end(), exits.begin(), exits.end());
    any.insert(any.end(), exits.begin(), exits.end());
  }
  auto pose = [&](std::vector<Option> options) {
    std::stable_sort(
        options.begin(), options.end(),
        [](const Option &a, const Option &b) { return a.tier < b.tier; });
    return out.addOptions(std::move(options));
  };
  const int64_t bytes = problem.atoms[atom].bytes;
  lots[atom].copies.push_back(out.addLot(pose(std::move(first)), bytes));
  if (count == 1)
    return;
  const int32_t list = pose(std::move(any));
  for (size_t i = 1; i < count; ++i)
    lots[atom].copies.push_back(out.addLot(list, bytes));
}

void Rails::stripe(size_t atom) {
  const int64_t bytes = problem.atoms[atom].bytes,
                grain = problem.atoms[atom].grain;
  Stripes stripes;
  for (auto [share, lot] : lots[atom].entries)
    stripes.entries.emplace_back(in.partsOf(lot), 0, bytes, grain);
  for (int32_t lot : lots[atom].copies)
    stripes.copies.emplace_back(out.partsOf(lot), 0, bytes, grain);
  for (int64_t begin = 0, end; begin < bytes; begin = end) {
    end = bytes;
    for (const auto *layouts : {&stripes.entries, &stripes.copies})
      for (const Layout &layout : *layouts)
        end = std::min(end, layout.end());
    addStripe(atom, stripes, begin, end);
    for (auto *layouts : {&stripes.entries, &stripes.copies})
      for (Layout &layout : *layouts)
        layout.goTo(end);
  }
  for (auto &[node, part] : stripes.open)
    parts.push_back(std::move(part));
}

/// Joins what is alike.
void Rails::addPart(Stripes &stripes, int32_t node, Part part) {
  if (part.exits.empty() && part.others.empty())
    return;
  auto [entry, isNew] = stripes.open.try_emplace(node, part);
  if (isNew)
    return;
  Part &open = entry->second;
  if (open.end == part.begin && open.isAlike(part)) {
    open.end = part.end;
    return;
  }
  parts.push_back(std::move(open));
  open = std::move(part);
}

void Rails::addStripe(size_t atom, Stripes &stripes, int64_t begin,
                      int64_t end) {
  // Who sends a copy, by node.
  std::map<int32_t, std::vector<int32_t>> senders;
  for (const Layout &layout : stripes.copies)
    senders[problem.nodeOf(layout.device())].push_back(layout.device());

  const auto number = static_cast<int32_t>(atom);
  std::map<int32_t, Part> byNode;
  std::vector<int32_t> roots;
  for (const NodeShare &share : nodes[atom])
    if (!share.lacks()) {
      const std::vector<int32_t> &sending = senders[share.node];
      roots.insert(roots.end(), sending.begin(), sending.end());
      byNode[share.node] = {number, begin, end, 0, share.holders, {}, {}};
    }
  std::vector<Receiver> receivers;
  for (size_t i = 0; i < stripes.entries.size(); ++i) {
    const int32_t node = nodes[atom][lots[atom].entries[i].first].node;
    receivers.push_back({stripes.entries[i].device(), false, senders[node]});
  }
  for (const TreeEdge &edge : growTree(roots, receivers)) {
    const int32_t entry = receivers[edge.receiver].entry;
    hops.push_back({number, edge.from, entry, 0, begin, end});
    byNode[problem.nodeOf(entry)] = {number,  begin, end, edge.depth,
                                     {entry}, {},    {}};
  }
  for (const NodeShare &share : nodes[atom]) {
    Part &part = byNode[share.node];
    for (int32_t device : senders[share.node])
      if (!isIn(part.sources, device) && !isIn(part.exits, device))
        part.exits.push_back(device);
    for (int32_t device : share.needers)
      if (!isIn(part.sources, device) && !isIn(part.exits, device))
        part.others.push_back(device);
    addPart(stripes, share.node, std::move(part));
  }
}

} // namespace etc::routing
