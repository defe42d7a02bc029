// Ways to cut ranks into colocation groups and nodes into sites.

#ifndef ETC_LIB_OPTIMIZE_PLACEMENT_PARTITION_H
#define ETC_LIB_OPTIMIZE_PLACEMENT_PARTITION_H

#include "Instance.h"

namespace etc::placement {

/// Ranks that go to one site: some tensor-parallel groups, one, or a part of
/// one.
struct ColocationGroup {
  llvm::SmallVector<int64_t> ranks;

  /// Ascending, with repeats.
  llvm::SmallVector<int64_t> getRoles(const Problem &problem) const;
};

/// Devices of one node that take one colocation group: all of them, or some.
struct Site {
  int64_t node;
  llvm::SmallVector<Candidate> devices;

  /// Ascending, with repeats; -1 for a device that holds nothing.
  llvm::SmallVector<int64_t> getPrevRoles() const;
};

struct Partition {
  llvm::SmallVector<ColocationGroup> groups;
  llvm::SmallVector<Site> sites;
};

/// Every node with a device that may take a rank, as one site.
llvm::SmallVector<Site> findNodes(const Instance &instance);
/// Every `step`-th entry from each start: 0, 2, 4, 1, 3, 5 for a step of 2.
template <typename T>
llvm::SmallVector<T> strided(llvm::ArrayRef<T> values, size_t step) {
  llvm::SmallVector<T> result;
  for (size_t start = 0; start < step; ++start)
    for (size_t i = start; i < values.size(); i += step)
      result.push_back(values[i]);
  return result;
}

/// How many tensor-parallel groups each of the fewest nodes takes; empty where
/// they do not fit.
llvm::SmallVector<int64_t> fewestNodes(llvm::ArrayRef<Site> nodes,
                                       const Problem &problem);
/// Over how many nodes a tensor-parallel group goes: 1, if the largest node
/// holds it.
int64_t countParts(const Instance &instance);

/// Of groups that fit a node, as many together as fill the fewest nodes; none
/// where they do not fit. Groups follow each other by stage or by their number,
/// neighbours together or strided.
llvm::SmallVector<Partition> packedPartitions(const Instance &instance);

/// Every group by itself, on sites of its size: neighbouring devices of a node,
/// or strided ones. None where a group exceeds a node.
llvm::SmallVector<Partition> singlePartitions(const Instance &instance);

/// The sizes of the parts that a group which exceeds a node may be cut into: of
/// the largest node, with a smaller rest, or all about as large.
llvm::SmallVector<int64_t, 2> partSizes(const Instance &instance);

/// Groups that exceed a node, in parts of one size: of strided ranks on the
/// stages that `isStrided` names, of neighbouring ones on the others. Parts
/// stand in the order of stages, as many of each. Nothing where there are fewer
/// nodes than parts.
std::optional<Partition> spreadPartition(const Instance &instance, int64_t size,
                                         llvm::ArrayRef<bool> isStrided);

} // namespace etc::placement

#endif // ETC_LIB_OPTIMIZE_PLACEMENT_PARTITION_H
