// Time, and the constraints (P1) to (P5) of a problem.

#include "etc/Optimize/Routing/Problem.h"

#include "../Message.h"

#include <algorithm>
#include <tuple>

namespace etc::routing {

using optimize::at;
using optimize::Message;
using optimize::text;

__extension__ using Int128 = __int128;

std::strong_ordering Time::operator<=>(const Time &other) const {
  return Int128(bytes) * other.rate <=> Int128(other.bytes) * rate;
}

void addNode(Problem &problem, int32_t devices, int32_t nics, int64_t linkRate,
             int64_t nicRate) {
  const int32_t node = problem.nodes();
  const auto first = static_cast<int32_t>(problem.nics.size());
  problem.nics.insert(problem.nics.end(), nics, {node, nicRate});
  for (int64_t i = 0; i < devices; ++i)
    problem.devices.push_back(
        {first + static_cast<int32_t>(i * nics / devices), linkRate});
}

namespace {

constexpr int64_t kMostRate = int64_t(1) << 50;
constexpr int64_t kMost = int64_t(1) << 60;

template <typename T> bool isIndex(int64_t index, const std::vector<T> &list) {
  return index >= 0 && index < int64_t(list.size());
}

Message checkRate(const char *array, size_t index, int64_t rate) {
  if (rate >= 1 && rate <= kMostRate)
    return std::nullopt;
  return text(at(array, index), ": the rate must be in [1, 2^50], got ", rate);
}

Message checkResources(const Problem &problem) {
  int32_t node = -1;
  for (size_t i = 0; i < problem.nics.size(); ++i) {
    const Nic &nic = problem.nics[i];
    if (nic.node != node && nic.node != node + 1)
      return text(at("nics", i), ".node: expected ", std::max(node, 0), " or ",
                  node + 1, ", got ", nic.node);
    node = nic.node;
    if (Message error = checkRate("nics", i, nic.rate))
      return error;
  }
  for (size_t i = 0; i < problem.devices.size(); ++i) {
    const Device &device = problem.devices[i];
    if (!isIndex(device.nic, problem.nics))
      return text(at("devices", i), ".nic: ", device.nic, " is not in [0, ",
                  problem.nics.size(), ")");
    if (Message error = checkRate("devices", i, device.linkRate))
      return error;
  }
  return std::nullopt;
}

Message checkSet(const Problem &problem, size_t index) {
  const std::vector<int32_t> &set = problem.sets[index];
  if (set.empty())
    return text(at("sets", index), ": lists no device");
  for (size_t i = 0; i < set.size(); ++i) {
    if (!isIndex(set[i], problem.devices))
      return text(at("sets", index), ": device ", set[i], " is not in [0, ",
                  problem.devices.size(), ")");
    if (i > 0 && set[i - 1] >= set[i])
      return text(at("sets", index), ": must be strictly ascending, got ",
                  set[i], " after ", set[i - 1]);
  }
  return std::nullopt;
}

Message checkAtom(const Problem &problem, size_t index) {
  const Atom &atom = problem.atoms[index];
  for (int32_t set : {atom.holders, atom.needers})
    if (!isIndex(set, problem.sets))
      return text(at("atoms", index), ": set ", set, " is not in [0, ",
                  problem.sets.size(), ")");
  if (atom.bytes < 1 || atom.grain < 1)
    return text(at("atoms", index), ": expected at least 1 byte and a grain ",
                "of at least 1, got ", atom.bytes, " and ", atom.grain);
  if (index == 0)
    return std::nullopt;
  const Atom &before = problem.atoms[index - 1];
  if (std::tie(before.holders, before.needers, before.mayTransit) >=
      std::tie(atom.holders, atom.needers, atom.mayTransit))
    return text(at("atoms", index), ": must come after the atom before it by ",
                "(holders, needers, mayTransit), got (", atom.holders, ", ",
                atom.needers, ", ", atom.mayTransit, ") after (",
                before.holders, ", ", before.needers, ", ", before.mayTransit,
                ")");
  return std::nullopt;
}

Message checkTakers(const Problem &problem, size_t index) {
  const Atom &atom = problem.atoms[index];
  const std::vector<int32_t> &holders = problem.holdersOf(atom);
  for (int32_t device : holders)
    if (!problem.takesPart(device))
      return text(at("atoms", index), ".holders: device ", device,
                  " takes no part");
  for (int32_t device : problem.needersOf(atom)) {
    if (problem.devices[device].status != Status::Usable)
      return text(at("atoms", index), ".needers: device ", device,
                  " is not usable");
    if (std::binary_search(holders.begin(), holders.end(), device))
      return text(at("atoms", index), ".needers: device ", device,
                  " is a holder");
  }
  return std::nullopt;
}

Message checkMagnitudes(const Problem &problem) {
  int64_t rates = 0;
  for (const Nic &nic : problem.nics)
    rates += nic.rate;
  for (const Device &device : problem.devices)
    if ((rates += device.linkRate) > kMost)
      return text("devices: the sum of all rates exceeds 2^60");
  Int128 bytes = 0;
  for (size_t i = 0; i < problem.atoms.size(); ++i) {
    const Atom &atom = problem.atoms[i];
    bytes += Int128(atom.bytes) * (problem.needersOf(atom).size() + 1);
    if (bytes > kMost)
      return text(at("atoms", i), ".bytes: the bytes to move may exceed 2^60");
  }
  return std::nullopt;
}

} // namespace

std::optional<std::string> check(const Problem &problem) {
  if (Message error = checkResources(problem))
    return error;
  for (size_t i = 0; i < problem.sets.size(); ++i)
    if (Message error = checkSet(problem, i))
      return error;
  for (size_t i = 0; i < problem.atoms.size(); ++i) {
    if (Message error = checkAtom(problem, i))
      return error;
    if (Message error = checkTakers(problem, i))
      return error;
  }
  return checkMagnitudes(problem);
}

} // namespace etc::routing
