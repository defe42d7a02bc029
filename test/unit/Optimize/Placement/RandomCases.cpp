// Random instances.

#include "Cases.h"

#include <algorithm>
#include <random>
#include <set>

namespace etc::placement::testing {
namespace {

constexpr int64_t mostDevices = 7;

class Generator {
public:
  explicit Generator(uint64_t seed) : engine(seed) {}

  Problem run();

private:
  /// The same on any machine, which distributions are not.
  int64_t from(int64_t low, int64_t high) {
    return low + int64_t(engine() % uint64_t(high - low + 1));
  }
  bool isOneIn(int64_t count) { return from(1, count) == 1; }
  void drawRanks();
  void drawDevices();
  void drawDeviceBenefits();
  void drawNodeBenefits();

  std::mt19937_64 engine;
  Problem problem;
  int64_t roles = 1, prevRoles = 1;
  std::vector<int32_t> prevGroup;             ///< [previous role]
  std::vector<std::set<int32_t>> prevRolesOf; ///< [node class]
};

/// Two stages of two groups at most, whose ranks are roles or replicas.
void Generator::drawRanks() {
  problem.stages = from(1, 2);
  problem.groupSize = from(1, 3);
  const int64_t groups =
                    problem.stages * from(1, problem.groupSize > 1 ? 1 : 3),
                ranks = groups * problem.groupSize;
  problem.replicas = ranks % 2 == 0 && isOneIn(2) ? 2 : 1;
  roles = ranks / problem.replicas;
  for (int64_t rank = 0; rank < ranks; ++rank)
    problem.groups.push_back(rank);
  // Ranks of a group are anywhere, as replicas are.
  for (size_t i = problem.groups.size() - 1; i > 0; --i)
    if (isOneIn(3))
      std::swap(problem.groups[i], problem.groups[size_t(from(0, int64_t(i)))]);
  problem.policy = Policy(from(0, 2));
  problem.isTotalFirst = isOneIn(3);
}

/// Nodes of one size, or of any; devices with and without state.
void Generator::drawDevices() {
  const int64_t count = from(std::min(roles * problem.replicas, mostDevices),
                             mostDevices),
                size = from(1, 4);
  const bool isEven = isOneIn(2);
  prevRoles = from(1, 5);
  int32_t node = 0;
  int64_t left = isEven ? size : from(1, 4);
  for (int64_t i = 0; i < count; ++i) {
    Device device{node, -1};
    if (isOneIn(12))
      device.status = Status::Failed;
    else if (isOneIn(10))
      device.status = Status::Draining;
    if (device.status != Status::Failed && !isOneIn(4))
      device.prevRole = int32_t(from(0, prevRoles - 1));
    problem.devices.push_back(device);
    if (--left == 0) {
      ++node;
      left = isEven ? size : from(1, 4);
    }
  }
}

void Generator::drawDeviceBenefits() {
  std::vector<int32_t> rowGroup;
  const bool isPlain = isOneIn(2); // every role is a group
  for (int64_t role = 0; role < roles; ++role)
    rowGroup.push_back(int32_t(isPlain ? role : role / 2));
  for (int64_t prevRole = 0; prevRole < prevRoles; ++prevRole)
    prevGroup.push_back(int32_t(isPlain ? prevRole : prevRole / 2));
  problem.onDevice = BenefitTable(rowGroup, prevGroup);
  BenefitTable &table = problem.onDevice;
  for (int64_t row = 0; row < table.getRowGroups(); ++row)
    for (int64_t column = 0; column < table.getColumnGroups(); ++column)
      table.atGroups(row, column) = isOneIn(3) ? 0 : from(1, 9);
  for (int64_t role = 0; role < roles; ++role)
    if (!isPlain && isOneIn(2))
      table.add(role, from(0, prevRoles - 1), from(1, 6));
}

/// Nodes that hold the same roles are of a class, and have what these hold
/// together: as much as one of them, or more.
void Generator::drawNodeBenefits() {
  std::vector<std::set<int32_t>> held(size_t(problem.devices.back().node) + 1),
      groups;
  for (const Device &device : problem.devices)
    if (device.prevRole >= 0)
      held[size_t(device.node)].insert(device.prevRole);
  std::vector<int32_t> classGroup;
  for (const std::set<int32_t> &list : held) {
    const auto known = std::find(prevRolesOf.begin(), prevRolesOf.end(), list);
    problem.nodeClass.push_back(int32_t(known - prevRolesOf.begin()));
    if (known != prevRolesOf.end())
      continue;
    prevRolesOf.push_back(list);
    std::set<int32_t> ofGroups;
    for (int32_t prevRole : list)
      ofGroups.insert(prevGroup[size_t(prevRole)]);
    const auto group = std::find(groups.begin(), groups.end(), ofGroups);
    classGroup.push_back(int32_t(group - groups.begin()));
    if (group == groups.end())
      groups.push_back(ofGroups);
  }
  const BenefitTable &onDevice = problem.onDevice;
  std::vector<int32_t> rowGroup;
  for (int64_t role = 0; role < roles; ++role)
    rowGroup.push_back(onDevice.getRowGroup(role));
  BenefitTable table(rowGroup, classGroup);
  for (int64_t row = 0; row < table.getRowGroups(); ++row)
    for (size_t group = 0; group < groups.size(); ++group) {
      int64_t &bytes = table.atGroups(row, int64_t(group));
      for (int32_t prevGroup : groups[group])
        bytes = std::max(bytes, onDevice.atGroups(row, prevGroup));
      if (groups[group].size() > 1)
        bytes += from(0, 5);
    }
  for (int64_t role = 0; role < roles; ++role)
    for (size_t number = 0; number < prevRolesOf.size(); ++number) {
      int64_t more = 0;
      for (auto [prevRole, bytes] : onDevice.getPairs(role))
        if (prevRolesOf[number].contains(prevRole))
          more = std::max(more, bytes);
      if (more > 0)
        table.add(role, int64_t(number), more + from(0, 2));
    }
  problem.onNode = std::move(table);
}

Problem Generator::run() {
  drawRanks();
  drawDevices();
  drawDeviceBenefits();
  drawNodeBenefits();
  return std::move(problem);
}

} // namespace

Problem randomProblem(uint64_t seed) { return Generator(seed).run(); }

Entering randomEntering(const Problem &problem, uint64_t seed) {
  std::mt19937_64 engine(seed);
  const auto classes = size_t(problem.onNode.getColumns());
  Entering entering;
  entering.contentsOf.resize(size_t(problem.getRoles()));
  for (int32_t content = 0; content < 6; ++content) {
    entering.bytes.push_back(16);
    std::vector<int64_t> &lacking =
        entering.lacking.emplace_back(std::vector<int64_t>(classes));
    for (int64_t &bytes : lacking)
      bytes = int64_t(engine() % 3) * 8;
    for (std::vector<int32_t> &ofRole : entering.contentsOf)
      if (engine() % 2)
        ofRole.push_back(content);
  }
  return entering;
}

} // namespace etc::placement::testing
