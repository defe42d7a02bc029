// The problem of placement: which device takes which rank, with the topology in
// the objective. docs/placement.md gives the model and the reasons.

#ifndef ETC_OPTIMIZE_PLACEMENT_PROBLEM_H
#define ETC_OPTIMIZE_PLACEMENT_PROBLEM_H

#include "etc/Optimize/Assignment/Weight.h"
#include "etc/Optimize/Placement/Benefits.h"

#include <optional>
#include <string>

namespace etc::placement {

enum class Status : uint8_t {
  Usable,   ///< may take a rank
  Draining, ///< has state, takes no rank
  Failed,   ///< has no state, takes no rank
};

struct Device {
  int32_t node;
  int32_t prevRole; ///< the role whose state it holds, or -1
  Status status = Status::Usable;

  bool operator==(const Device &) const = default;
};

/// Where tensor-parallel groups may be.
enum class Policy : uint8_t {
  Any,  ///< anywhere
  Tp,   ///< inside a node; a larger one on no more than it takes of the largest
  Pack, ///< the same, and all on the fewest nodes that hold the groups
};

/// Every rank gets a usable device of its own, so that the most bytes need not
/// move. Rank role * replicas + replica is a replica of a role. A rank that is
/// put on a device keeps two amounts: what the device holds, and what the
/// devices of its node hold together; `isTotalFirst` says which of the two
/// counts first.
///
/// A well-formed problem obeys
///
/// (P1) replicas and groupSize are at least 1, there is a role, and both tables
/// have a row for each;
///
/// (P2) `groups` lists every rank once, in whole groups, as many for each
/// stage;
///
/// (P3) devices are listed node by node, ascending; their previous roles are
/// -1 or columns of onDevice, and a failed one has none;
///
/// (P4) every node's class is a column of onNode;
///
/// (P5) no benefit is negative, and a rank keeps no more on a device than on
/// its node, by groups and beyond them;
///
/// (P6) int64 arithmetic is exact: the most that all ranks can keep, times
/// ranks + devices + 1, is at most 2^60.
struct Problem {
  int64_t replicas = 1; ///< ranks of each role
  int64_t stages = 1;
  int64_t groupSize = 1; ///< ranks of a tensor-parallel group
  /// All ranks: group by group, those of a stage together.
  std::vector<int64_t> groups;
  std::vector<Device> devices;    ///< [devices]
  std::vector<int32_t> nodeClass; ///< [nodes]
  BenefitTable onDevice;          ///< [role][previous role]
  BenefitTable onNode;            ///< [role][node class]
  Policy policy = Policy::Any;
  bool isTotalFirst = false; ///< bytes kept on devices count before the nodes'

  int64_t getRoles() const { return onNode.getRows(); }
  int64_t getRanks() const { return getRoles() * replicas; }
  int64_t getGroups() const { return getRanks() / groupSize; }
  /// Bytes kept on the node and on the device, in the order in which they
  /// count.
  assignment::Weight weigh(int64_t node, int64_t device) const {
    return isTotalFirst ? assignment::Weight{device, node}
                        : assignment::Weight{node, device};
  }

  bool operator==(const Problem &) const = default;
};

/// Says which of (P1) to (P6) the problem breaks first, and where; nothing if
/// it is well formed. Takes time in roles x devices.
std::optional<std::string> check(const Problem &problem);

} // namespace etc::placement

#endif // ETC_OPTIMIZE_PLACEMENT_PROBLEM_H
