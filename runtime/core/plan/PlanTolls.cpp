#include "core/plan/PlanTolls.h"

#include "core/plan/FormatRules.h"

#include <algorithm>
#include <array>

using namespace etc;
using namespace etc::plan;

namespace {
using List = flatbuffers::Vector<uint32_t>;

struct NamedList {
  const char *name;
  const List *list;
  bool isOfNics;
};
} // namespace

static std::array<NamedList, 4> listsOf(const fb::Tolls &tolls) {
  return {{{"links_out", tolls.links_out(), false},
           {"links_in", tolls.links_in(), false},
           {"nics_out", tolls.nics_out(), true},
           {"nics_in", tolls.nics_in(), true}}};
}

/// Of a device of a node of `size`, which is the `place`-th.
static uint64_t nicAt(uint64_t nics, uint64_t size, uint64_t place) {
  return std::min(nics, size) * place / size;
}

/// Lists have devices of the cluster, and NICs the first that has them.
static Status checkList(const std::string &name, const fb::Plan &plan,
                        const NamedList &named) {
  if (named.list->size() == 0)
    return malformed(name, ": at least one is needed");
  if (Status s = checkAscending(name, *named.list); !s.ok())
    return s;
  const uint64_t nics = plan.resources()->nics();
  uint64_t first = 0;
  uint32_t node = 0;
  for (uint32_t i = 0; i != named.list->size(); ++i) {
    const uint64_t device = named.list->Get(i);
    while (node != plan.nodes()->size() &&
           device >= first + plan.nodes()->Get(node))
      first += plan.nodes()->Get(node++);
    if (node == plan.nodes()->size())
      return outOfRange(item(name, i), device, first);
    const uint64_t size = plan.nodes()->Get(node), place = device - first;
    if (named.isOfNics && place > 0 &&
        nicAt(nics, size, place) == nicAt(nics, size, place - 1))
      return malformed(item(name, i), ": device ", device,
                       " is not the first that has its NIC");
  }
  return Status::success();
}

Status etc::plan::checkTolls(const std::string &name, const fb::Plan &plan,
                             const fb::TimeBound &bound) {
  if (bound.devices()->size() != 0 || bound.inner() || bound.outgoing())
    return malformed(name, ".devices: a bound with tolls has none");
  if (plan.lanes() || plan.sections())
    return malformed(name, ".tolls: a plan of lanes or sections has none");
  bool isEmpty = true;
  for (const NamedList &named : listsOf(*bound.tolls())) {
    if (!named.list)
      continue;
    isEmpty = false;
    if (Status s = checkList(name + ".tolls." + named.name, plan, named);
        !s.ok())
      return s;
  }
  return isEmpty ? malformed(name, ".tolls: at least one is needed")
                 : Status::success();
}

TollEnds::TollEnds(const fb::Tolls &tolls) {
  for (const NamedList &named : listsOf(tolls))
    (named.isOfNics ? nics : links) += sizeOf(named.list);
}

uint32_t etc::plan::firstOfNic(const PlanIndex &index, uint32_t device) {
  uint32_t begin = device;
  while (begin > 0 && index.nodeOf(begin - 1) == index.nodeOf(device))
    --begin;
  const uint64_t size = index.nodes()[index.nodeOf(device)],
                 nics = index.plan().resources()->nics();
  uint32_t first = device;
  while (first > begin && nicAt(nics, size, first - 1 - begin) ==
                              nicAt(nics, size, device - begin))
    --first;
  return first;
}

TollCount etc::plan::tollsOf(const PlanIndex &index, const fb::Tolls &tolls) {
  const auto lists = listsOf(tolls);
  const auto nodeOf = [&](size_t rank) {
    return index.nodeOf(index.device(static_cast<uint32_t>(rank)));
  };
  return TollCount::of(
      index.rankCount(),
      [&](size_t i, size_t j) { return nodeOf(i) == nodeOf(j); },
      [&](size_t kind, size_t rank) {
        const auto &[name, list, isOfNics] = lists[kind];
        const uint32_t device = index.device(static_cast<uint32_t>(rank));
        return list && std::binary_search(list->begin(), list->end(),
                                          isOfNics ? firstOfNic(index, device)
                                                   : device);
      });
}
