#include "core/plan/TimeBound.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <initializer_list>
#include <set>

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
/// What bytes cross between the devices of a bound and the other participants.
struct Border {
  std::set<uint32_t> nodes;
  bool hasWholeNodes = true; ///< all participants of these nodes
  uint64_t links = 0, nics = 0;
};
} // namespace

static Border borderOf(const PlanIndex &index, const fb::TimeBound &bound) {
  const fb::Plan &plan = index.plan();
  const flatbuffers::Vector<uint32_t> &inside = *bound.devices();
  std::vector<uint32_t> first{0};
  for (uint32_t count : *plan.nodes())
    first.push_back(first.back() + count);
  std::vector<uint64_t> participants(plan.nodes()->size()),
      insiders(plan.nodes()->size());
  std::set<uint32_t> inner;
  if (bound.inner())
    inner.insert(bound.inner()->begin(), bound.inner()->end());
  for (uint32_t device : *plan.participants())
    ++participants[index.nodeOf(device)];
  for (uint32_t device : inside)
    ++insiders[index.nodeOf(device)];
  Border border;
  std::set<std::pair<uint32_t, uint64_t>> nics;
  for (uint32_t device : inside) {
    const uint32_t node = index.nodeOf(device);
    const uint64_t size = plan.nodes()->Get(node);
    border.nodes.insert(node);
    const bool isWhole = insiders[node] == participants[node];
    border.hasWholeNodes &= isWhole;
    if (inner.contains(device) ? participants[node] > 1 : !isWhole)
      ++border.links;
    if (participants[node] < plan.participants()->size())
      nics.emplace(node, std::min<uint64_t>(plan.resources()->nics(), size) *
                             (device - first[node]) / size);
  }
  border.nics = nics.size();
  return border;
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

std::string etc::plan::describeBound(const PlanIndex &index,
                                     const fb::TimeBound *bound) {
  const fb::Plan &plan = index.plan();
  if (!bound)
    return {};
  const Border border = borderOf(index, *bound);
  const bool isPlural = (border.hasWholeNodes ? border.nodes.size()
                                              : bound->devices()->size()) > 1;
  std::string out = border.hasWholeNodes ? listed("node", border.nodes)
                                         : listed("device", *bound->devices());
  const std::string bytes = scaled(static_cast<double>(bound->bytes()),
                                   {"B", "kB", "MB", "GB", "TB"});
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
  out += isPlural ? " and have " : " and has ";
  std::string resources;
  for (auto [count, rate] :
       {std::pair(border.links, plan.resources()->link_rate()),
        {border.nics, plan.resources()->nic_rate()}}) {
    if (count == 0)
      continue;
    resources += resources.empty() ? "" : " + ";
    resources += count == 1 ? "" : std::to_string(count) + " x ";
    resources += scaled(static_cast<double>(rate),
                        {"B/s", "kB/s", "MB/s", "GB/s", "TB/s"});
  }
  return out + resources;
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
