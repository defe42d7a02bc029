// The constraints (P1) to (P6) of a problem.

#include "etc/Optimize/Placement/Problem.h"

#include "../Message.h"

#include <algorithm>

namespace etc::placement {

using optimize::at;
using optimize::Message;
using optimize::text;

namespace {

__extension__ using Int128 = __int128;

constexpr int64_t kMost = int64_t(1) << 60;

Message checkSizes(const Problem &problem) {
  if (problem.replicas < 1)
    return text("replicas: expected at least 1, got ", problem.replicas);
  if (problem.groupSize < 1)
    return text("groupSize: expected at least 1, got ", problem.groupSize);
  if (problem.getRoles() < 1)
    return text("onNode: expected at least 1 role, got none");
  if (problem.onDevice.getRows() != problem.getRoles())
    return text("onDevice: expected ", problem.getRoles(), " roles, got ",
                problem.onDevice.getRows());
  return std::nullopt;
}

Message checkGroups(const Problem &problem) {
  const int64_t ranks = problem.getRanks();
  if (int64_t(problem.groups.size()) != ranks)
    return text("groups: expected ", ranks, " ranks, got ",
                problem.groups.size());
  std::vector<bool> isListed(static_cast<size_t>(ranks));
  for (size_t i = 0; i < problem.groups.size(); ++i) {
    const int64_t rank = problem.groups[i];
    if (rank < 0 || rank >= ranks)
      return text(at("groups", i), ": rank ", rank, " is not in [0, ", ranks,
                  ")");
    if (isListed[size_t(rank)])
      return text(at("groups", i), ": rank ", rank, " is listed twice");
    isListed[size_t(rank)] = true;
  }
  if (problem.stages < 1 || ranks % problem.stages != 0 ||
      ranks / problem.stages % problem.groupSize != 0)
    return text("stages: ", ranks, " ranks are not groups of ",
                problem.groupSize, " on ", problem.stages, " stages");
  return std::nullopt;
}

Message checkDevice(const Problem &problem, size_t index) {
  const Device &device = problem.devices[index];
  const std::string place = at("devices", index);
  if (device.node < 0 || size_t(device.node) >= problem.nodeClass.size())
    return text(place, ".node: ", device.node, " is not in [0, ",
                problem.nodeClass.size(), ")");
  if (index > 0 && problem.devices[index - 1].node > device.node)
    return text(place, ".node: must be ascending, got ", device.node, " after ",
                problem.devices[index - 1].node);
  if (device.prevRole < -1 || device.prevRole >= problem.onDevice.getColumns())
    return text(place, ".prevRole: ", device.prevRole, " is not in [-1, ",
                problem.onDevice.getColumns(), ")");
  if (device.status == Status::Failed && device.prevRole != -1)
    return text(place, ": has failed, but has the state of role ",
                device.prevRole);
  return std::nullopt;
}

Message checkClasses(const Problem &problem) {
  for (size_t i = 0; i < problem.nodeClass.size(); ++i)
    if (problem.nodeClass[i] < 0 ||
        problem.nodeClass[i] >= problem.onNode.getColumns())
      return text(at("nodeClass", i), ": ", problem.nodeClass[i],
                  " is not in [0, ", problem.onNode.getColumns(), ")");
  return std::nullopt;
}

Message checkSigns(const char *name, const BenefitTable &table) {
  for (int64_t row = 0; row < table.getRowGroups(); ++row)
    for (int64_t column = 0; column < table.getColumnGroups(); ++column)
      if (table.atGroups(row, column) < 0)
        return text(name, ": groups ", row, " and ", column, " have ",
                    table.atGroups(row, column), " bytes");
  for (int64_t row = 0; row < table.getRows(); ++row)
    for (const auto &[column, bytes] : table.getPairs(row))
      if (bytes < 0)
        return text(name, ": row ", row, " and column ", column, " have ",
                    bytes, " bytes beyond their groups");
  return std::nullopt;
}

/// What a pair has beyond its groups.
int64_t beyondGroups(const BenefitTable &table, int64_t row, int64_t column) {
  const auto &pairs = table.getPairs(row);
  const auto found = pairs.find(int32_t(column));
  return found == pairs.end() ? 0 : found->second;
}

/// A rank keeps no more on a device than on its node.
Message checkNodes(const Problem &problem, size_t index) {
  const Device &device = problem.devices[index];
  if (device.prevRole < 0)
    return std::nullopt;
  const int32_t nodeClass = problem.nodeClass[size_t(device.node)];
  for (int64_t role = 0; role < problem.getRoles(); ++role) {
    const int64_t more = beyondGroups(problem.onDevice, role, device.prevRole),
                  moreOnNode = beyondGroups(problem.onNode, role, nodeClass),
                  all = problem.onDevice.at(role, device.prevRole),
                  allOnNode = problem.onNode.at(role, nodeClass);
    if (more > moreOnNode || all - more > allOnNode - moreOnNode)
      return text(at("devices", index), ": role ", role, " keeps ", all, " (",
                  more, " beyond its group) on it, but ", allOnNode, " (",
                  moreOnNode, ") on its node");
  }
  return std::nullopt;
}

Message checkMagnitudes(const Problem &problem) {
  Int128 most = 0;
  for (int64_t role = 0; role < problem.getRoles(); ++role)
    most += Int128(problem.replicas) * problem.onNode.getMost(role);
  if (most * (Int128(problem.getRanks()) + Int128(problem.devices.size()) + 1) >
      kMost)
    return text("what all ranks keep, times ranks and devices, exceeds 2^60");
  return std::nullopt;
}

} // namespace

std::optional<std::string> check(const Problem &problem) {
  for (auto *constraint : {checkSizes, checkGroups})
    if (Message error = constraint(problem))
      return error;
  for (size_t i = 0; i < problem.devices.size(); ++i)
    if (Message error = checkDevice(problem, i))
      return error;
  if (Message error = checkClasses(problem))
    return error;
  for (auto [name, table] : {std::pair("onDevice", &problem.onDevice),
                             std::pair("onNode", &problem.onNode)})
    if (Message error = checkSigns(name, *table))
      return error;
  for (size_t i = 0; i < problem.devices.size(); ++i)
    if (Message error = checkNodes(problem, i))
      return error;
  return checkMagnitudes(problem);
}

} // namespace etc::placement
