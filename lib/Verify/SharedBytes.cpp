//===- SharedBytes.cpp - Bytes by who needs and who held them -------------===//

#include "SharedBytes.h"

using namespace etc;

using Claims = std::vector<Claim>;

namespace {
/// The claims on every tensor of every layer and expert.
class ClaimReader {
public:
  ClaimReader(const TensorTable &table, const LayoutOracle &oracle)
      : table(table), oracle(oracle) {}

  void addHeld(int64_t role) {
    for (const Piece &piece : oracle.holdings(Side::Prev, role))
      add(piece, piece, false, role);
  }
  void addNeeded(int64_t role);
  ClaimedBytes take();

private:
  void add(const Piece &piece, const Piece &box, bool isNeed, int64_t role) {
    const unsigned tensor =
        table.getPrimary(piece.tensor).value_or(piece.tensor);
    claims[{tensor, piece.layer, piece.expert}].push_back(
        {{box.outer, box.cut, box.inner}, isNeed, role});
  }

  const TensorTable &table;
  const LayoutOracle &oracle;
  std::map<std::tuple<unsigned, int64_t, int64_t>, Claims> claims;
};
} // namespace

/// Padding that is new is made, not moved.
void ClaimReader::addNeeded(int64_t role) {
  for (const Piece &piece : oracle.holdings(Side::Curr, role)) {
    const std::optional<Piece> old = oracle.wholeOnPrev(piece);
    if (!old)
      continue;
    if (std::optional<Piece> common = intersect(piece, *old))
      add(piece, *common, true, role);
  }
}

ClaimedBytes ClaimReader::take() {
  ClaimedBytes bytesOf;
  for (auto &[key, list] : claims)
    addClaims(
        std::move(list),
        table.getMovedBytes({std::get<0>(key), 0, 0, {0, 1}, {0, 1}, {0, 1}}),
        bytesOf);
  return bytesOf;
}

SharedBytes etc::countShared(const TensorTable &table,
                             const LayoutOracle &oracle,
                             const std::set<int64_t> &prevRoles,
                             int64_t currRoles) {
  ClaimReader reader(table, oracle);
  for (int64_t role : prevRoles)
    reader.addHeld(role);
  for (int64_t role = 0; role < currRoles; ++role)
    reader.addNeeded(role);
  return countShared(reader.take());
}
