#include "core/plan/TimeBound.h"

#include "core/plan/PlanTolls.h"
#include "core/plan/TotalRate.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <initializer_list>
#include <map>
#include <set>
#include <tuple>

using namespace etc::plan;

bool etc::plan::defersState(const PlanIndex &index) {
  const auto &tensors = *index.plan().tensors();
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const fb::Tensor *t) { return t->deferred(); });
}

double etc::plan::boundSeconds(const fb::TimeBound *bound) {
  return bound ? static_cast<double>(bound->bytes()) /
                     static_cast<double>(bound->rate())
               : 0;
}

namespace {
/// What a bound's border has to do with a node.
struct BorderNode {
  uint64_t participants = 0, insiders = 0, inner = 0;
  std::set<uint64_t> nics, allNics;
};
} // namespace

static std::map<uint32_t, BorderNode> nodesOf(const PlanIndex &index,
                                              const fb::TimeBound &bound) {
  const auto isIn = [](const flatbuffers::Vector<uint32_t> *list,
                       uint32_t device) {
    return list && std::binary_search(list->begin(), list->end(), device);
  };
  std::vector<uint32_t> first{0};
  for (uint32_t count : index.nodes())
    first.push_back(first.back() + count);
  const uint64_t most = index.plan().resources()->nics();
  std::map<uint32_t, BorderNode> nodes;
  for (uint32_t device : index.participants()) {
    const uint32_t number = index.nodeOf(device);
    const uint64_t size = index.nodes()[number],
                   nic = std::min(most, size) * (device - first[number]) / size;
    BorderNode &node = nodes[number];
    ++node.participants;
    node.allNics.insert(nic);
    node.inner += isIn(bound.inner(), device);
    if (isIn(bound.devices(), device)) {
      ++node.insiders;
      node.nics.insert(nic);
    }
  }
  return nodes;
}

Border etc::plan::borderOf(const PlanIndex &index, const fb::TimeBound &bound) {
  const std::map<uint32_t, BorderNode> nodes = nodesOf(index, bound);
  Border border;
  for (const auto &[number, node] : nodes)
    if (node.insiders > 0)
      border.nodes.insert(number);
  for (const auto &[number, node] : nodes) {
    const bool isInside = node.insiders > 0,
               isWhole = node.insiders == node.participants,
               isShared = node.participants > 1 || index.plan().lanes();
    border.hasWholeNodes &= isWhole || !isInside;
    if (!isWhole)
      border.own.links += node.insiders;
    else if (isShared)
      border.own.links += node.inner;
    if (node.inner > 0)
      border.other.links += isShared ? node.participants : 0;
    else if (isInside)
      border.other.links += node.participants - node.insiders;
    if (node.participants < index.rankCount())
      border.own.nics += node.nics.size();
    if (border.nodes.size() > (isInside ? 1 : 0))
      border.other.nics += node.allNics.size();
  }
  return border;
}

uint64_t Border::rateOf(const PlanIndex &index, const Ends &ends) {
  const fb::Plan &plan = index.plan();
  const fb::Resources &resources = *plan.resources();
  const uint64_t lanes = plan.lanes() ? plan.lanes()->count() : 1;
  return totalRate(ends.links->links * lanes, resources.link_rate(),
                   ends.nics->nics * lanes, resources.nic_rate());
}

std::optional<Border::Ends> Border::findEnds(const PlanIndex &index,
                                             uint64_t rate) const {
  for (const End *links : {&own, &other})
    for (const End *nics : {&own, &other})
      if (rateOf(index, {links, nics}) == rate)
        return Ends{links, nics};
  return std::nullopt;
}

static std::string scaled(double value,
                          std::initializer_list<const char *> units) {
  auto unit = units.begin();
  for (; value >= 1000 && unit + 1 != units.end(); ++unit)
    value /= 1000;
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.4g %s", value, *unit);
  return buffer;
}

/// "node 1", "devices 0, 1, 2, 3 and 4 more".
template <typename List>
static std::string listed(const char *noun, const List &list) {
  constexpr uint32_t shown = 4;
  std::string out = noun + std::string(list.size() > 1 ? "s " : " ");
  uint32_t i = 0;
  for (uint32_t number : list) {
    if (i++ == shown)
      return out + " and " + std::to_string(list.size() - shown) + " more";
    out += (i > 1 ? ", " : "") + std::to_string(number);
  }
  return out;
}

/// "2 x 20 GB/s + 8 x 50 GB/s", of links and NICs.
static std::string listRates(const fb::Resources &resources, uint64_t links,
                             uint64_t nics) {
  std::string out;
  for (auto [count, rate] : {std::pair(links, resources.link_rate()),
                             {nics, resources.nic_rate()}}) {
    if (count == 0)
      continue;
    out += out.empty() ? "" : " + ";
    out += count == 1 ? "" : std::to_string(count) + " x ";
    out += scaled(static_cast<double>(rate),
                  {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"});
  }
  return out;
}

/// " and has 2 x 20 MB/s, and the others 4 MB/s"
static std::string describeRates(const PlanIndex &index, const Border &border,
                                 uint64_t rate, const char *verb) {
  const Border::Ends ends =
      border.findEnds(index, rate)
          .value_or(Border::Ends{&border.own, &border.own});
  const auto list = [&](const Border::End &end) {
    return listRates(*index.plan().resources(),
                     ends.links == &end ? end.links : 0,
                     ends.nics == &end ? end.nics : 0);
  };
  const std::string own = list(border.own), other = list(border.other);
  if (own.empty())
    return " and the others have " + other;
  return std::string(" and ") + verb + " " + own +
         (other.empty() ? "" : ", and the others " + other);
}

/// "NICs out of node 1"; of single devices where they are not all of nodes.
static std::string describeNics(const PlanIndex &index, const char *way,
                                const flatbuffers::Vector<uint32_t> &list) {
  std::map<uint32_t, std::set<uint32_t>> nics; // by node
  for (uint32_t device : list)
    nics[index.nodeOf(device)];
  for (uint32_t device : index.participants())
    if (auto it = nics.find(index.nodeOf(device)); it != nics.end())
      it->second.insert(firstOfNic(index, device));
  std::set<uint32_t> nodes;
  bool isWhole = true;
  for (const auto &[node, its] : nics) {
    nodes.insert(node);
    isWhole &= std::includes(list.begin(), list.end(), its.begin(), its.end());
  }
  return std::string(list.size() > 1 ? "NICs " : "NIC ") + way + " " +
         (isWhole ? listed("node", nodes) : listed("device", list));
}

/// "links into devices 1, 2, NICs out of node 1 have to carry 2.622 MB at 2 x 8
/// MB/s + 2 x 2 MB/s"
static std::string describeTolls(const PlanIndex &index, const fb::Tolls &tolls,
                                 const std::string &bytes) {
  std::string out;
  for (auto [way, links, nics] :
       {std::tuple("out of", tolls.links_out(), tolls.nics_out()),
        {"into", tolls.links_in(), tolls.nics_in()}}) {
    if (links)
      out += (out.empty() ? "" : ", ") +
             std::string(links->size() > 1 ? "links " : "link ") + way + " " +
             listed("device", *links);
    if (nics)
      out += (out.empty() ? "" : ", ") + describeNics(index, way, *nics);
  }
  const TollEnds ends(tolls);
  return out + (ends.links + ends.nics > 1 ? " have" : " has") + " to carry " +
         bytes + " at " +
         listRates(*index.plan().resources(), ends.links, ends.nics);
}

std::string etc::plan::describeBound(const PlanIndex &index,
                                     const fb::TimeBound *bound) {
  if (!bound)
    return {};
  const std::string bytes = scaled(static_cast<double>(bound->bytes()),
                                   {"B", "kB", "MB", "GB", "TB"});
  if (bound->tolls())
    return describeTolls(index, *bound->tolls(), bytes);
  const Border border = borderOf(index, *bound);
  const bool isPlural = (border.hasWholeNodes ? border.nodes.size()
                                              : bound->devices()->size()) > 1;
  std::string out = border.hasWholeNodes ? listed("node", border.nodes)
                                         : listed("device", *bound->devices());
  if (bound->outgoing())
    out += std::string(isPlural ? " alone hold " : " alone holds ") + bytes +
           " that others need,";
  else
    out += std::string(isPlural ? " lack " : " lacks ") + bytes;
  if (const auto *inner = bound->inner()) {
    out += bound->outgoing() ? "" : ",";
    out += inner->size() == bound->devices()->size()
               ? " counted separately,"
               : " counting " + listed("device", *inner) + " separately,";
  }
  return out +
         describeRates(index, border, bound->rate(), isPlural ? "have" : "has");
}

double etc::plan::roleBoundSeconds(const fb::RoleBound *bound) {
  return bound ? static_cast<double>(bound->bytes()) /
                     static_cast<double>(bound->rate())
               : 0;
}

std::string etc::plan::describeRoleBound(const fb::RoleBound *bound) {
  if (!bound)
    return {};
  const std::string bytes = scaled(static_cast<double>(bound->bytes()),
                                   {"B", "kB", "MB", "GB", "TB"}),
                    rate = scaled(static_cast<double>(bound->rate()),
                                  {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"});
  if (bound->witness() == fb::RoleWitness::fewest)
    return "the nodes that are kept lack " + bytes + " and receive " + rate;
  const std::string cells =
      listed(bound->of_nodes() ? "node" : "device", *bound->inside());
  const bool isPlural = bound->inside()->size() > 1;
  if (bound->witness() == fb::RoleWitness::others)
    return cells + (isPlural ? " lack " : " lacks ") + bytes +
           ", and the others send " + rate;
  return cells + (isPlural ? " lack " : " lacks ") + bytes +
         (isPlural ? " and receive " : " and receives ") + rate;
}
