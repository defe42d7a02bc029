// Where a place lets roles be.

#ifndef ETC_PROOF_ROLEPLACE_H
#define ETC_PROOF_ROLEPLACE_H

#include "core/proof/RoleBoundProof.h"

namespace etc {

/// Of the devices that may take roles.
class RolePlace {
public:
  explicit RolePlace(const RoleBoundFacts &facts);

  /// By device, and the devices of each node that may take roles.
  const std::vector<size_t> &nodeOf() const { return nodes; }
  const std::vector<int64_t> &usable() const { return rooms; }
  /// Whether each tensor-parallel group is on one node.
  bool areGroupsWhole() const { return isWhole; }
  /// How many nodes roles can be on.
  int64_t countMostNodes() const;
  /// What is wrong with roles on these devices, by rank.
  std::optional<std::string>
  findFlaw(const std::vector<int64_t> &devices) const;

private:
  const RoleBoundFacts &facts;
  std::vector<size_t> nodes;
  std::vector<int64_t> rooms;
  bool isWhole = false;
};

} // namespace etc

#endif // ETC_PROOF_ROLEPLACE_H
