//===- SharedBytes.h - Bytes by who needs and who held them -----*- C++ -*-===//

#ifndef ETC_LIB_VERIFY_SHAREDBYTES_H
#define ETC_LIB_VERIFY_SHAREDBYTES_H

#include "etc/Geometry.h"
#include "etc/Verify/LayoutOracle.h"

#include <compare>
#include <map>
#include <set>
#include <vector>

namespace etc {

/// Bytes, in the types that move, that just these current roles need and just
/// these previous roles held; both lists ascend. A tied copy and its twin are
/// the same bytes.
using SharedBytes =
    std::map<std::pair<std::vector<int64_t>, std::vector<int64_t>>, int64_t>;

/// What a role needs or held of a tensor.
struct Claim {
  Box box;
  bool isNeed;
  int64_t role;

  std::strong_ordering operator<=>(const Claim &other) const;
  bool operator==(const Claim &other) const {
    return (*this <=> other) == std::strong_ordering::equal;
  }
};

/// The bytes of an element, over all tensors on which the claims are the same
/// ones, sorted and distinct: what most layers have is.
using ClaimedBytes = std::map<std::vector<Claim>, int64_t>;

/// Takes the claims on a tensor, in any order.
void addClaims(std::vector<Claim> claims, int64_t elementBytes,
               ClaimedBytes &bytesOf);
SharedBytes countShared(const ClaimedBytes &bytesOf);

/// What the oracle says, for previous roles that some living device had.
SharedBytes countShared(const TensorTable &table, const LayoutOracle &oracle,
                        const std::set<int64_t> &prevRoles, int64_t currRoles);

} // namespace etc

#endif // ETC_LIB_VERIFY_SHAREDBYTES_H
