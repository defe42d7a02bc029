// The constraints (C1) to (C3) of a cut, and its sentence. Nothing here knows
// how a cut is found.

#include "../Message.h"
#include "etc/Optimize/Routing/Bound.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <set>

namespace etc::routing {

using optimize::at;
using optimize::Message;
using optimize::text;

namespace {

using Marks = std::vector<bool>; ///< [device]

bool hasAny(const Marks &marks, const std::vector<int32_t> &set) {
  return std::any_of(set.begin(), set.end(),
                     [&](int32_t device) { return marks[device]; });
}
bool hasAll(const Marks &marks, const std::vector<int32_t> &set) {
  return std::all_of(set.begin(), set.end(),
                     [&](int32_t device) { return marks[device]; });
}

/// A cut's devices as sets, and who else takes part.
class Border {
public:
  Border(const Problem &problem, const Cut &cut)
      : problem(problem), isInside(problem.devices.size()),
        isInner(problem.devices.size()), takeParts(problem.nodes()),
        inside(problem.nodes()) {
    for (int32_t device : cut.devices) {
      isInside[device] = true;
      ++inside[problem.nodeOf(device)];
    }
    for (int32_t device : cut.inner)
      isInner[device] = true;
    for (size_t device = 0; device < problem.devices.size(); ++device)
      if (problem.takesPart(int32_t(device))) {
        ++takeParts[problem.nodeOf(int32_t(device))];
        ++all;
      }
  }

  /// How many times some border is crossed by each byte of the atom, at least.
  int64_t crossings(const Atom &atom, Direction direction) const {
    return direction == Direction::In ? entries(atom) : exits(atom);
  }
  /// Whether bytes can cross within the device's node, and between nodes.
  bool hasLinks(int32_t device) const {
    const int32_t node = problem.nodeOf(device);
    return isInner[device] ? takeParts[node] > 1
                           : inside[node] < takeParts[node];
  }
  bool hasNics(int32_t device) const {
    return takeParts[problem.nodeOf(device)] < all;
  }
  bool isWholeNode(int32_t node) const {
    return inside[node] == takeParts[node];
  }

private:
  /// A hop has one receiver, so each inner device takes one of its own.
  int64_t entries(const Atom &atom) const {
    const auto &needers = problem.needersOf(atom);
    const auto own =
        std::count_if(needers.begin(), needers.end(),
                      [&](int32_t device) { return isInner[device]; });
    return own > 0 ? own
                   : hasAny(isInside, needers) &&
                         !hasAny(isInside, problem.holdersOf(atom));
  }
  /// A hop out of both sets is one hop.
  int64_t exits(const Atom &atom) const {
    const auto &holders = problem.holdersOf(atom);
    const auto &needers = problem.needersOf(atom);
    return (hasAll(isInside, holders) && !hasAll(isInside, needers)) ||
           (hasAll(isInner, holders) && !hasAll(isInner, needers));
  }

  const Problem &problem;
  Marks isInside, isInner;
  std::vector<int64_t> takeParts, inside; ///< [node]
  int64_t all = 0;
};

Message checkList(const Problem &problem, const char *name,
                  const std::vector<int32_t> &list) {
  for (size_t i = 0; i < list.size(); ++i) {
    const int32_t device = list[i];
    if (device < 0 || size_t(device) >= problem.devices.size())
      return text(at(name, i), ": ", device, " is not in [0, ",
                  problem.devices.size(), ")");
    if (!problem.takesPart(device))
      return text(at(name, i), ": device ", device, " takes no part");
    if (i > 0 && list[i - 1] >= device)
      return text(at(name, i), ": must be strictly ascending, got ", device,
                  " after ", list[i - 1]);
  }
  return std::nullopt;
}

Message checkDevices(const Problem &problem, const Cut &cut) {
  if (cut.devices.empty())
    return text("devices: lists no device");
  if (Message error = checkList(problem, "devices", cut.devices))
    return error;
  if (Message error = checkList(problem, "inner", cut.inner))
    return error;
  for (size_t i = 0; i < cut.inner.size(); ++i)
    if (!std::binary_search(cut.devices.begin(), cut.devices.end(),
                            cut.inner[i]))
      return text(at("inner", i), ": device ", cut.inner[i],
                  " is not one of the devices");
  return std::nullopt;
}

/// The NICs that bytes can cross through, by rate how many.
std::map<int64_t, int64_t> findNics(const Problem &problem, const Cut &cut,
                                    const Border &border) {
  std::set<int32_t> nics;
  for (int32_t device : cut.devices)
    if (border.hasNics(device))
      nics.insert(problem.devices[device].nic);
  std::map<int64_t, int64_t> counts;
  for (int32_t nic : nics)
    ++counts[problem.nics[nic].rate];
  return counts;
}

/// The links that bytes can cross through, by rate how many.
std::map<int64_t, int64_t> findLinks(const Problem &problem, const Cut &cut,
                                     const Border &border) {
  std::map<int64_t, int64_t> counts;
  for (int32_t device : cut.devices)
    if (border.hasLinks(device))
      ++counts[problem.devices[device].linkRate];
  return counts;
}

std::string scaled(double value, std::initializer_list<const char *> units) {
  auto unit = units.begin();
  for (; value >= 1000 && unit + 1 != units.end(); ++unit)
    value /= 1000;
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.4g %s", value, *unit);
  return buffer;
}

/// "node 1", "devices 0, 1, 2, 3 and 4 more".
std::string listed(std::string out, const std::vector<int32_t> &list) {
  out += list.size() > 1 ? "s " : " ";
  constexpr size_t shown = 4;
  for (size_t i = 0; i < std::min(list.size(), shown); ++i)
    out += (i ? ", " : "") + std::to_string(list[i]);
  if (list.size() > shown)
    out += " and " + std::to_string(list.size() - shown) + " more";
  return out;
}

std::string describeDevices(const Problem &problem, const Cut &cut,
                            const Border &border, bool &isPlural) {
  std::set<int32_t> nodes;
  bool isWhole = true;
  for (int32_t device : cut.devices) {
    nodes.insert(problem.nodeOf(device));
    isWhole &= border.isWholeNode(problem.nodeOf(device));
  }
  std::vector<int32_t> list = cut.devices;
  if (isWhole)
    list.assign(nodes.begin(), nodes.end());
  isPlural = list.size() > 1;
  return listed(isWhole ? "node" : "device", list);
}

} // namespace

std::optional<std::string> verifyBound(const Problem &problem, const Cut &cut) {
  if (Message error = checkDevices(problem, cut))
    return error;
  const Border border(problem, cut);
  int64_t bytes = 0;
  for (const Atom &atom : problem.atoms)
    bytes += border.crossings(atom, cut.direction) * atom.bytes;
  if (bytes != cut.time.bytes)
    return text("time.bytes: ", bytes, " bytes cross, got ", cut.time.bytes);
  int64_t rate = 0;
  for (const auto &counts :
       {findLinks(problem, cut, border), findNics(problem, cut, border)})
    for (auto [each, count] : counts)
      rate += each * count;
  if (rate != cut.time.rate)
    return text("time.rate: they cross at ", rate, " bytes a second, got ",
                cut.time.rate);
  return std::nullopt;
}

std::string describe(const Problem &problem, const Cut &cut) {
  const Border border(problem, cut);
  const bool isOne = cut.devices.size() == 1;
  bool isPlural;
  std::string out = describeDevices(problem, cut, border, isPlural);
  if (cut.direction == Direction::In)
    out += isPlural ? " lack " : " lacks ";
  else
    out += isPlural ? " alone hold " : " alone holds ";
  out += scaled(double(cut.time.bytes), {"B", "kB", "MB", "GB", "TB"});
  out += cut.direction == Direction::In ? "" : " that others need,";
  if (!cut.inner.empty()) {
    out += cut.direction == Direction::In ? "," : "";
    out += cut.inner == cut.devices
               ? " counted separately,"
               : " counting " + listed("device", cut.inner) + " separately,";
  }
  out += isPlural ? " and have " : " and has ";
  std::string resources;
  for (const auto &counts :
       {findLinks(problem, cut, border), findNics(problem, cut, border)})
    for (auto [rate, count] : counts) {
      resources += resources.empty() ? "" : " + ";
      resources += isOne ? "" : std::to_string(count) + " x ";
      resources += scaled(double(rate), {"B/s", "kB/s", "MB/s", "GB/s"});
    }
  return out + resources + ": nothing is below " +
         scaled(cut.time.seconds() * 1e6, {"us", "ms", "s"});
}

} // namespace etc::routing
