// A sweep over the axes, one after the other: between two neighbouring ends of
// boxes, the same boxes are open.

#include "core/proof/Claims.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>

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
