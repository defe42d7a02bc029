// What stays together on a node, and which contents nodes need for it.

#include "Units.h"

#include "llvm/ADT/STLExtras.h"

namespace etc::placement {

using llvm::ArrayRef;

/// So many counts of contents on nodes are kept, at most.
static constexpr size_t kMostCounts = 4'000'000;

Units::Units(const Problem &problem, const Entering &entering,
             const std::vector<int64_t> &deviceOf)
    : problem(problem), entering(entering), ofNode(problem.nodeClass.size()) {
  if (ofNode.size() * entering.lacking.size() > kMostCounts)
    return;
  const size_t size =
      problem.policy == Policy::Any ? 1 : size_t(problem.groupSize);
  for (ArrayRef<int64_t> rest = problem.groups; !rest.empty();
       rest = rest.drop_front(size)) {
    Unit unit;
    for (int64_t rank : rest.take_front(size)) {
      unit.ranks.push_back(rank);
      unit.devices.push_back(deviceOf[size_t(rank)]);
    }
    const int32_t node = nodeOf(unit);
    if (llvm::any_of(unit.devices, [&](int64_t device) {
          return problem.devices[size_t(device)].node != node;
        })) {
      units.clear();
      return;
    }
    unit.kind = kindOf(unit);
    ofNode[size_t(node)].push_back(units.size());
    units.push_back(std::move(unit));
  }
  counts.resize(ofNode.size() * entering.lacking.size());
  for (const Unit &unit : units)
    count(unit, nodeOf(unit), 1);
}

int32_t Units::kindOf(const Unit &unit) {
  std::vector<int64_t> roles;
  for (int64_t rank : unit.ranks)
    roles.push_back(rank / problem.replicas);
  auto [it, isNew] = kinds.try_emplace(roles, int32_t(kinds.size()));
  if (isNew) {
    Contents list;
    for (int64_t role : roles)
      list.insert(list.end(), entering.contentsOf[size_t(role)].begin(),
                  entering.contentsOf[size_t(role)].end());
    llvm::sort(list);
    list.erase(llvm::unique(list), list.end());
    contents.push_back(std::move(list));
  }
  return it->second;
}

void Units::count(const Unit &unit, int32_t node, int32_t change) {
  for (int32_t content : contentsOf(unit))
    counts[size_t(node) * entering.lacking.size() + size_t(content)] += change;
}

void Units::move(size_t number, int32_t from, int32_t to) {
  count(units[number], from, -1);
  count(units[number], to, 1);
  llvm::erase(ofNode[size_t(from)], number);
  ofNode[size_t(to)].push_back(number);
}

int64_t Units::enteringOf(int32_t node, const Contents *removed,
                          const Contents *added) const {
  const Contents none;
  const Contents &out = removed ? *removed : none, &in = added ? *added : none;
  int64_t bytes = 0;
  auto a = out.begin(), b = in.begin();
  while (a != out.end() || b != in.end()) {
    if (a != out.end() && b != in.end() && *a == *b) {
      ++a, ++b;
    } else if (b == in.end() || (a != out.end() && *a < *b)) {
      if (countOf(node, *a) == 1)
        bytes -= lackingOf(node, *a);
      ++a;
    } else {
      if (countOf(node, *b) == 0)
        bytes += lackingOf(node, *b);
      ++b;
    }
  }
  return bytes;
}

int64_t Units::keptBy(const Unit &unit, ArrayRef<int64_t> devices) const {
  int64_t kept = 0;
  for (auto [rank, device] : llvm::zip_equal(unit.ranks, devices))
    if (const int32_t prevRole = problem.devices[size_t(device)].prevRole;
        prevRole >= 0)
      kept += problem.onDevice.at(rank / problem.replicas, prevRole);
  return kept;
}

} // namespace etc::placement
