//===- SharedBytes.cpp - Bytes by who needs and who held them -------------===//
//
// A sweep over the axes, one after the other: between two neighbouring ends of
// boxes, the same boxes are open.
//
//===----------------------------------------------------------------------===//

#include "SharedBytes.h"

#include <algorithm>

using namespace etc;

using Claims = std::vector<Claim>;

std::strong_ordering Claim::operator<=>(const Claim &other) const {
  if (const auto order = BoxView(box) <=> BoxView(other.box); order != 0)
    return order;
  return std::tie(isNeed, role) <=> std::tie(other.isNeed, other.role);
}

static void addCell(const std::vector<const Claim *> &open, int64_t bytes,
                    SharedBytes &shared) {
  std::set<int64_t> needers, holders;
  for (const Claim *claim : open)
    (claim->isNeed ? needers : holders).insert(claim->role);
  if (!needers.empty())
    shared[{{needers.begin(), needers.end()},
            {holders.begin(), holders.end()}}] += bytes;
}

static void sweep(const std::vector<const Claim *> &claims, unsigned axis,
                  int64_t bytes, SharedBytes &shared) {
  if (axis == claims.front()->box.rank())
    return addCell(claims, bytes, shared);
  std::set<int64_t> ends;
  for (const Claim *claim : claims)
    ends.insert({claim->box[axis].begin, claim->box[axis].end});
  for (auto it = ends.begin(); it != ends.end() && std::next(it) != ends.end();
       ++it) {
    std::vector<const Claim *> open;
    for (const Claim *claim : claims)
      if (claim->box[axis].begin <= *it && *it < claim->box[axis].end)
        open.push_back(claim);
    if (std::any_of(open.begin(), open.end(),
                    [](const Claim *claim) { return claim->isNeed; }))
      sweep(open, axis + 1, bytes * (*std::next(it) - *it), shared);
  }
}

void etc::addClaims(Claims claims, int64_t elementBytes,
                    ClaimedBytes &bytesOf) {
  std::sort(claims.begin(), claims.end());
  claims.erase(std::unique(claims.begin(), claims.end()), claims.end());
  bytesOf[std::move(claims)] += elementBytes;
}

SharedBytes etc::countShared(const ClaimedBytes &bytesOf) {
  SharedBytes shared;
  for (const auto &[claims, bytes] : bytesOf) {
    std::vector<const Claim *> all;
    for (const Claim &claim : claims)
      all.push_back(&claim);
    if (!all.empty())
      sweep(all, 0, bytes, shared);
  }
  std::erase_if(shared, [](const auto &entry) { return entry.second == 0; });
  return shared;
}

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
