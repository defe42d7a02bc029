// Ways to cut ranks into colocation groups and nodes into sites.

#include "Partition.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"
#include "llvm/ADT/SmallVectorExtras.h"
#include "llvm/Support/MathExtras.h"

namespace etc::placement {

using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::SmallVectorImpl;

SmallVector<int64_t> ColocationGroup::getRoles(const Problem &problem) const {
  auto roles = llvm::map_to_vector(
      ranks, [&](int64_t rank) { return rank / problem.replicas; });
  llvm::sort(roles);
  return roles;
}

SmallVector<int64_t> Site::getPrevRoles() const {
  auto roles = llvm::map_to_vector(
      devices, [](const Candidate &candidate) { return candidate.prevRole; });
  llvm::sort(roles);
  return roles;
}

SmallVector<Site> findNodes(const Instance &instance) {
  SmallVector<Site> nodes;
  for (const Candidate &candidate : instance.devices) {
    if (nodes.empty() || nodes.back().node != candidate.node)
      nodes.push_back({candidate.node, {}});
    nodes.back().devices.push_back(candidate);
  }
  return nodes;
}

SmallVector<int64_t> fewestNodes(ArrayRef<Site> nodes, const Problem &problem) {
  auto room = llvm::map_to_vector(nodes, [&](const Site &node) {
    return int64_t(node.devices.size()) / problem.groupSize;
  });
  llvm::sort(room, std::greater<>());
  int64_t groups = problem.getGroups();
  SmallVector<int64_t> counts;
  for (int64_t count : room) {
    if (groups == 0 || count == 0)
      break;
    counts.push_back(std::min(count, groups));
    groups -= counts.back();
  }
  return groups == 0 ? counts : SmallVector<int64_t>();
}

namespace {

/// The ranks of a tensor-parallel group.
ArrayRef<int64_t> ranksOf(const Problem &problem, int64_t group) {
  return ArrayRef(problem.groups)
      .slice(size_t(group * problem.groupSize), size_t(problem.groupSize));
}

/// The groups, by stage (those of a stage together) or by their number within
/// it (the stages of a replica together).
SmallVector<int64_t> orderGroups(const Problem &problem, bool isByStage) {
  const int64_t count = problem.getGroups() / problem.stages;
  if (isByStage)
    return llvm::to_vector(llvm::seq(problem.getGroups()));
  SmallVector<int64_t> groups;
  for (int64_t number = 0; number < count; ++number)
    for (int64_t stage = 0; stage < problem.stages; ++stage)
      groups.push_back(stage * count + number);
  return groups;
}

/// Consecutive groups fill site after site.
Partition packGroups(const Problem &problem, ArrayRef<int64_t> groups,
                     ArrayRef<int64_t> counts, ArrayRef<Site> sites) {
  Partition partition{{}, SmallVector<Site>(sites)};
  for (int64_t count : counts) {
    ColocationGroup together;
    for (int64_t group : groups.take_front(size_t(count)))
      llvm::append_range(together.ranks, ranksOf(problem, group));
    groups = groups.drop_front(size_t(count));
    partition.groups.push_back(std::move(together));
  }
  return partition;
}

/// The devices of every node in sites of a group's size.
SmallVector<Site> cutNodes(const Instance &instance, bool isStrided) {
  const auto size = size_t(instance.problem.groupSize);
  SmallVector<Site> sites;
  for (const Site &node : findNodes(instance)) {
    const size_t count = node.devices.size() / size;
    SmallVector<Candidate> devices = node.devices;
    if (isStrided && count > 1)
      devices = strided<Candidate>(node.devices, count);
    for (size_t number = 0; number < count; ++number)
      sites.push_back(
          {node.node, SmallVector<Candidate>(
                          ArrayRef(devices).slice(number * size, size))});
  }
  return sites;
}

int64_t largestNode(const Instance &instance) {
  int64_t largest = 0;
  for (const Site &node : findNodes(instance))
    largest = std::max(largest, int64_t(node.devices.size()));
  return largest;
}

} // namespace

int64_t countParts(const Instance &instance) {
  return int64_t(
      llvm::divideCeil(instance.problem.groupSize, largestNode(instance)));
}

SmallVector<Partition> packedPartitions(const Instance &instance) {
  const Problem &problem = instance.problem;
  const SmallVector<Site> nodes = findNodes(instance);
  const SmallVector<int64_t> counts = fewestNodes(nodes, problem);
  SmallVector<Partition> partitions;
  if (counts.empty())
    return partitions;
  for (bool isByStage : {true, false}) {
    const SmallVector<int64_t> groups = orderGroups(problem, isByStage);
    partitions.push_back(packGroups(problem, groups, counts, nodes));
    if (counts.size() > 1)
      partitions.push_back(packGroups(
          problem, strided<int64_t>(groups, counts.size()), counts, nodes));
  }
  return partitions;
}

SmallVector<Partition> singlePartitions(const Instance &instance) {
  const Problem &problem = instance.problem;
  const SmallVector<int64_t> groups = orderGroups(problem, /*isByStage=*/true),
                             ones(groups.size(), 1);
  SmallVector<Partition> partitions;
  for (bool isStrided : {false, true})
    if (const SmallVector<Site> sites = cutNodes(instance, isStrided);
        sites.size() >= groups.size())
      partitions.push_back(packGroups(problem, groups, ones, sites));
  return partitions;
}

SmallVector<int64_t, 2> partSizes(const Instance &instance) {
  const int64_t largest = largestNode(instance),
                even = int64_t(llvm::divideCeil(instance.problem.groupSize,
                                                countParts(instance)));
  if (largest == even)
    return {largest};
  return {largest, even};
}

std::optional<Partition> spreadPartition(const Instance &instance, int64_t size,
                                         ArrayRef<bool> isStrided) {
  const Problem &problem = instance.problem;
  Partition partition{{}, findNodes(instance)};
  const auto parts = size_t(llvm::divideCeil(problem.groupSize, size));
  const int64_t ofStage = problem.getGroups() / problem.stages;
  for (int64_t group = 0; group < problem.getGroups(); ++group) {
    SmallVector<int64_t> ranks(ranksOf(problem, group));
    if (isStrided[size_t(group / ofStage)])
      ranks = strided<int64_t>(ranks, parts);
    for (ArrayRef<int64_t> rest = ranks; !rest.empty();) {
      const auto part = rest.take_front(std::min(size_t(size), rest.size()));
      rest = rest.drop_front(part.size());
      partition.groups.push_back({SmallVector<int64_t>(part)});
    }
  }
  if (partition.groups.size() > partition.sites.size())
    return std::nullopt;
  return partition;
}

} // namespace etc::placement
