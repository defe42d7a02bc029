#include "core/proof/RolePlace.h"

#include "core/plan/Status.h"

#include <algorithm>
#include <functional>
#include <set>

using namespace etc;
using plan::text;
using plan::fb::Place;

RolePlace::RolePlace(const RoleBoundFacts &facts)
    : facts(facts), rooms(facts.nodes.size()) {
  for (size_t node = 0; node != facts.nodes.size(); ++node)
    nodes.insert(nodes.end(), facts.nodes[node], node);
  for (size_t device = 0; device != facts.canTakeRole.size(); ++device)
    rooms[nodes[device]] += facts.canTakeRole[device];
  isWhole = facts.place != Place::any &&
            facts.tensorParallel <= *std::ranges::max_element(rooms);
}

int64_t RolePlace::countMostNodes() const {
  std::vector<int64_t> largest(rooms);
  std::erase(largest, 0);
  std::ranges::sort(largest, std::greater<>());
  const int64_t all = largest.size(), tp = facts.tensorParallel,
                groups = static_cast<int64_t>(facts.currRole.size()) / tp;
  if (facts.place != Place::pack)
    return all;
  if (!isWhole)
    return std::min<int64_t>(
        all, groups * ((tp + largest.front() - 1) / largest.front()));
  int64_t count = 0, placed = 0;
  while (placed < groups && count < all)
    placed += largest[count++] / tp;
  return count;
}

std::optional<std::string>
RolePlace::findFlaw(const std::vector<int64_t> &devices) const {
  std::set<size_t> used;
  for (size_t rank = 0; rank != devices.size(); ++rank) {
    const size_t first = rank - rank % facts.tensorParallel;
    used.insert(nodes[devices[rank]]);
    if (isWhole && nodes[devices[rank]] != nodes[devices[first]])
      return text("is of roles whose tensor-parallel groups are on one node; "
                  "in the plan, ranks ",
                  first, " and ", rank, " are on two");
  }
  const int64_t most = countMostNodes();
  if (static_cast<int64_t>(used.size()) > most)
    return text("is of roles on at most ", most,
                " nodes; in the plan, they "
                "are on ",
                used.size());
  return std::nullopt;
}
