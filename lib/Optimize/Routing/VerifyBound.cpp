// The constraints (C1) to (C3) of a cut, and its sentence. Nothing here knows
// how a cut is found.

#include "../Message.h"
#include "BoundWords.h"
#include "VerifyTolls.h"

#include <algorithm>
#include <array>
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
        isInner(problem.devices.size()), nodes(problem.nodes()) {
    for (int32_t device : cut.devices) {
      isInside[device] = true;
      nodesInside += nodes[problem.nodeOf(device)].inside++ == 0;
    }
    for (int32_t device : cut.inner) {
      isInner[device] = true;
      ++nodes[problem.nodeOf(device)].inner;
    }
    for (size_t device = 0; device < problem.devices.size(); ++device)
      if (problem.takesPart(int32_t(device))) {
        ++nodes[problem.nodeOf(int32_t(device))].takePart;
        ++all;
      }
  }

  /// How many times some border is crossed by each byte of the atom, at least.
  int64_t crossings(const Atom &atom, Direction direction) {
    return direction == Direction::In ? entries(atom) : exits(atom);
  }
  /// Whether bytes can cross within the device's node, and between nodes; and
  /// whether it may be at the other end where they do.
  bool hasLink(int32_t device) const {
    const Node &node = nodeOf(device);
    return isInside[device] &&
           (isInner[device] ? node.takePart > 1 : node.inside < node.takePart);
  }
  bool hasNic(int32_t device) const {
    return isInside[device] && nodeOf(device).takePart < all;
  }
  bool hasOtherLink(int32_t device) const {
    const Node &node = nodeOf(device);
    return node.inside > 0 &&
           (node.inner > 0 ? node.takePart > 1 : !isInside[device]);
  }
  bool hasOtherNic(int32_t device) const {
    return nodesInside > (nodeOf(device).inside > 0 ? 1 : 0);
  }
  bool isWholeNode(int32_t node) const {
    return nodes[node].inside == nodes[node].takePart;
  }

private:
  struct Node {
    int64_t takePart = 0, inside = 0, inner = 0;
    const Atom *heldOf = nullptr; ///< the last atom that was looked at
  };
  const Node &nodeOf(int32_t device) const {
    return nodes[problem.nodeOf(device)];
  }

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
  /// One hop may leave both sets. The first out of an inner holder does in any
  /// case, and so does the first NIC's that leads to a node without holders.
  int64_t exits(const Atom &atom) {
    const auto &holders = problem.holdersOf(atom);
    const auto &needers = problem.needersOf(atom);
    return hasAll(isInner, holders) ||
           (hasAll(isInside, holders) &&
            (!hasAll(isInside, needers) || leavesNode(atom)));
  }
  bool leavesNode(const Atom &atom) {
    for (int32_t device : problem.holdersOf(atom))
      nodes[problem.nodeOf(device)].heldOf = &atom;
    const auto &needers = problem.needersOf(atom);
    return std::any_of(needers.begin(), needers.end(), [&](int32_t device) {
      return nodeOf(device).heldOf != &atom;
    });
  }

  const Problem &problem;
  Marks isInside, isInner;
  std::vector<Node> nodes;
  int64_t nodesInside = 0, all = 0;
};

Message checkDevices(const Problem &problem, const Cut &cut) {
  if (cut.devices.empty())
    return text("devices: lists no device");
  if (Message error = checkDeviceList(problem, "devices", cut.devices))
    return error;
  if (Message error = checkDeviceList(problem, "inner", cut.inner))
    return error;
  for (size_t i = 0; i < cut.inner.size(); ++i)
    if (!std::binary_search(cut.devices.begin(), cut.devices.end(),
                            cut.inner[i]))
      return text(at("inner", i), ": device ", cut.inner[i],
                  " is not one of the devices");
  return std::nullopt;
}

int64_t rateOf(const RateCounts &counts) {
  int64_t rate = 0;
  for (auto [each, count] : counts)
    rate += each * count;
  return rate;
}

/// What bytes cross through, at one end or the other.
struct Resources {
  std::array<RateCounts, 2> links,
      nics; ///< of the cut's devices; of the others

  Resources(const Problem &problem, const Border &border) {
    std::array<std::set<int32_t>, 2> used;
    for (size_t i = 0; i < problem.devices.size(); ++i) {
      const auto device = int32_t(i);
      if (!problem.takesPart(device))
        continue;
      const Device &its = problem.devices[i];
      if (border.hasLink(device))
        ++links[0][its.linkRate];
      if (border.hasOtherLink(device))
        ++links[1][its.linkRate];
      if (border.hasNic(device))
        used[0].insert(its.nic);
      if (border.hasOtherNic(device))
        used[1].insert(its.nic);
    }
    for (size_t end : {0, 1})
      for (int32_t nic : used[end])
        ++nics[end][problem.nics[nic].rate];
  }

  /// The ends at which they add up to the rate: of links, and of NICs.
  std::optional<std::array<size_t, 2>> findEnds(int64_t rate) const {
    for (size_t ofLinks : {0, 1})
      for (size_t ofNics : {0, 1})
        if (rateOf(links[ofLinks]) + rateOf(nics[ofNics]) == rate)
          return {{ofLinks, ofNics}};
    return std::nullopt;
  }
  int64_t least() const {
    return std::min(rateOf(links[0]), rateOf(links[1])) +
           std::min(rateOf(nics[0]), rateOf(nics[1]));
  }
};

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

/// " and have 2 x 20 MB/s, and the others 1 x 4 MB/s"
std::string describeRates(const Problem &problem, const Cut &cut,
                          const Border &border, const char *verb) {
  const Resources resources(problem, border);
  const auto [ofLinks, ofNics] =
      resources.findEnds(cut.time.rate).value_or(std::array<size_t, 2>());
  std::array<std::string, 2> list; // by end
  const bool isOne = cut.devices.size() == 1;
  list[ofLinks] = listRates(resources.links[ofLinks], "", isOne && !ofLinks);
  list[ofNics] =
      listRates(resources.nics[ofNics], list[ofNics], isOne && !ofNics);
  if (list[0].empty())
    return " and the others have " + list[1];
  return std::string(" and ") + verb + " " + list[0] +
         (list[1].empty() ? "" : ", and the others " + list[1]);
}

} // namespace

std::optional<std::string> verifyBound(const Problem &problem, const Cut &cut) {
  if (!cut.tolls.empty())
    return verifyTolls(problem, cut);
  if (Message error = checkDevices(problem, cut))
    return error;
  Border border(problem, cut);
  int64_t bytes = 0;
  for (const Atom &atom : problem.atoms)
    bytes += border.crossings(atom, cut.direction) * atom.bytes;
  if (bytes != cut.time.bytes)
    return text("time.bytes: ", bytes, " bytes cross, got ", cut.time.bytes);
  const Resources resources(problem, border);
  if (cut.time.rate <= 0 || !resources.findEnds(cut.time.rate))
    return text("time.rate: they cross at ", resources.least(),
                " bytes a second, got ", cut.time.rate);
  return std::nullopt;
}

std::string describe(const Problem &problem, const Cut &cut) {
  if (!cut.tolls.empty())
    return describeTolls(problem, cut);
  const Border border(problem, cut);
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
  return out + describeRates(problem, cut, border, isPlural ? "have" : "has") +
         describeTime(cut.time);
}

} // namespace etc::routing
