// Bytes by who needs and who held them.

#ifndef ETC_PROOF_CLAIMS_H
#define ETC_PROOF_CLAIMS_H

#include "etc/Geometry.h"

#include <compare>
#include <cstdint>
#include <map>
#include <utility>
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

} // namespace etc

#endif // ETC_PROOF_CLAIMS_H
