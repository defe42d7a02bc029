// Tensor-parallel groups on nodes: several ways to cut them are tried, and the
// best one is taken.

#include "PlaceGroups.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallSet.h"

namespace etc::placement {

using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

using Best = std::optional<Solution>;

void keepBest(const Problem &problem, ArrayRef<Partition> partitions,
              Best &best) {
  for (const Partition &partition : partitions) {
    std::optional<Solution> solution = placeGroups(problem, partition);
    if (solution && (!best || solution->kept > best->kept))
      best = std::move(solution);
  }
}

/// Every stage cut as is better for it alone: what the embeddings ask for on
/// one stage must not decide for all.
std::optional<Partition> mixedPartition(const Instance &instance, int64_t size,
                                        const Partition &neighbours,
                                        const Partition &strided) {
  const auto stages = size_t(instance.problem.stages),
             parts = neighbours.groups.size() / stages;
  const auto most = [&](const Partition &partition, size_t stage) {
    return mostKept(instance.problem,
                    ArrayRef(partition.groups).slice(stage * parts, parts),
                    partition.sites);
  };
  SmallVector<bool> isStrided;
  for (size_t stage = 0; stage < stages; ++stage)
    isStrided.push_back(most(strided, stage) > most(neighbours, stage));
  if (llvm::all_equal(isStrided))
    return std::nullopt;
  return spreadPartition(instance, size, isStrided);
}

/// All ways to cut groups that exceed a node.
SmallVector<Partition> spreadPartitions(const Instance &instance) {
  SmallVector<Partition> partitions;
  for (int64_t size : partSizes(instance)) {
    const auto cut = [&](bool isStrided) {
      return spreadPartition(
          instance, size,
          SmallVector<bool>(size_t(instance.problem.stages), isStrided));
    };
    std::optional<Partition> neighbours = cut(false), strided = cut(true);
    if (!neighbours)
      continue;
    if (auto mixed = mixedPartition(instance, size, *neighbours, *strided))
      partitions.push_back(std::move(*mixed));
    partitions.push_back(std::move(*neighbours));
    partitions.push_back(std::move(*strided));
  }
  return partitions;
}

bool haveNodesOneSize(const Instance &instance) {
  return llvm::all_equal(
      llvm::map_range(findNodes(instance),
                      [](const Site &node) { return node.devices.size(); }));
}

/// Whether a solution splits no group over more nodes than it has to, and, to
/// pack, uses no more nodes than it has to.
bool keepsGroups(const Instance &instance, const Solution &solution) {
  const Problem &problem = instance.problem;
  const auto parts = size_t(countParts(instance)),
             size = size_t(problem.groupSize);
  llvm::SmallSet<int64_t, 16> used;
  for (ArrayRef<int64_t> rest = problem.groups; !rest.empty();
       rest = rest.drop_front(size)) {
    llvm::SmallSet<int64_t, 8> ofGroup;
    for (int64_t rank : rest.take_front(size)) {
      const int64_t device = solution.deviceOf[size_t(rank)];
      ofGroup.insert(problem.devices[size_t(device)].node);
    }
    if (ofGroup.size() > parts)
      return false;
    used.insert_range(ofGroup);
  }
  if (problem.policy != Policy::Pack)
    return true;
  return used.size() <=
         (parts > 1 ? size_t(problem.getGroups()) * parts
                    : fewestNodes(findNodes(instance), problem).size());
}

/// The optimum without constraints, where it meets them.
void keepAnywhere(const Instance &instance, Best &best) {
  Solution solution = placeAnywhere(instance);
  if ((!best || solution.kept > best->kept) && keepsGroups(instance, solution))
    best = std::move(solution);
}

} // namespace

std::optional<Solution> placeInNodes(const Instance &instance) {
  const Problem &problem = instance.problem;
  Best best;
  const bool isSpread = countParts(instance) > 1;
  keepBest(problem,
           isSpread ? spreadPartitions(instance) : packedPartitions(instance),
           best);
  if (problem.policy != Policy::Pack)
    keepBest(problem, singlePartitions(instance), best);
  else if (best)
    // The nodes are chosen; on these, groups may still change places one by
    // one.
    keepBest(problem, singlePartitions(restrictTo(instance, *best)), best);
  // Partitions are of few sizes, nodes may be of many.
  if (isSpread || !haveNodesOneSize(instance)) {
    if (best)
      keepAnywhere(restrictTo(instance, *best), best);
    keepAnywhere(instance, best);
  }
  return best;
}

} // namespace etc::placement
