//===- NodeClasses.cpp - Nodes that hold the same roles -------------------===//

#include "etc/Analysis/NodeClasses.h"

using namespace etc;
using llvm::ArrayRef;
using llvm::SmallVector;
using placement::BenefitTable;
using placement::Entering;

static void sortUnique(SmallVector<int64_t> &list) {
  llvm::sort(list);
  list.erase(llvm::unique(list), list.end());
}

NodeClasses::NodeClasses(const Devices &devices, const Holdings &prev) {
  SmallVector<SmallVector<int64_t>> held(devices.getNodeCount());
  for (int64_t device = 0; device < devices.size(); ++device)
    if (int64_t role = devices.getPrevRole(device); role >= 0)
      held[devices.getNode(device)].push_back(role);
  std::map<SmallVector<int64_t>, int64_t> classes, groups;
  for (SmallVector<int64_t> &list : held) {
    sortUnique(list);
    auto [it, isNew] = classes.try_emplace(list, roles.size());
    ofNode.push_back(it->second);
    if (!isNew)
      continue;
    roles.push_back(list);
    SmallVector<int64_t> ofPools;
    for (int64_t role : list)
      ofPools.push_back(prev.getPool(role));
    sortUnique(ofPools);
    auto [known, isFirst] = groups.try_emplace(ofPools, pools.size());
    if (isFirst)
      pools.push_back(ofPools);
    group.push_back(known->second);
  }
}

namespace {
/// Works out who holds how much of current pieces, place by place: a place is a
/// class of nodes or a group of these.
class Coverage {
public:
  Coverage(const TensorTable &table, const Holdings &prev)
      : table(table), prev(prev), holders(prev) {}

  using Places = llvm::function_ref<ArrayRef<int64_t>(Holder)>;
  using Add = llvm::function_ref<void(int64_t place, int64_t bytes)>;
  void add(const Piece &piece, Places placesOf, Add add) const;

private:
  const TensorTable &table;
  const Holdings &prev;
  HolderIndex holders;
};
} // namespace

/// Elements of `piece` that at least one of `parts` has.
static int64_t unionSize(const Piece &piece, ArrayRef<Piece> parts) {
  if (llvm::any_of(parts,
                   [&](const Piece &part) { return contains(part, piece); }))
    return piece.size();
  SmallVector<Piece> rest = {piece};
  for (const Piece &part : parts) {
    SmallVector<Piece> next;
    for (const Piece &left : rest)
      llvm::append_range(next, subtract(left, part));
    rest = std::move(next);
  }
  int64_t left = 0;
  for (const Piece &part : rest)
    left += part.size();
  return piece.size() - left;
}

void Coverage::add(const Piece &piece, Places placesOf, Add add) const {
  std::map<int64_t, SmallVector<Piece>> parts;
  for (unsigned source : getSources(table, prev, piece.tensor))
    for (const HolderIndex::Entry &entry : holders.find(source, piece)) {
      if (!intersect(piece, entry.piece))
        continue;
      for (Holder holder : entry.holders)
        for (int64_t place : placesOf(holder))
          if (parts[place].empty() || parts[place].back() != entry.piece)
            parts[place].push_back(entry.piece);
    }
  int64_t bytes = table.getMovedBytes(piece) / piece.size();
  for (const auto &[place, list] : parts)
    add(place, unionSize(piece, list) * bytes);
}

/// For every number in `lists`, the lists that have it.
static SmallVector<SmallVector<int64_t>>
invert(ArrayRef<SmallVector<int64_t>> lists, int64_t count) {
  SmallVector<SmallVector<int64_t>> places(count);
  for (auto [place, list] : llvm::enumerate(lists))
    for (int64_t number : list)
      places[number].push_back(place);
  return places;
}

BenefitTable NodeClasses::countBenefits(const TensorTable &table,
                                        const Holdings &prev,
                                        const Holdings &curr) const {
  std::vector<int32_t> rowGroup;
  for (int64_t role = 0; role < curr.size(); ++role)
    rowGroup.push_back(curr.getPool(role));
  BenefitTable benefits(std::move(rowGroup), group);
  Coverage coverage(table, prev);
  auto classesOf = invert(roles, prev.size()),
       groupsOf = invert(pools, prev.getPools());
  // What pools share is the same in a whole group. Where one side has ranges
  // alone, pools are roles on the other.
  for (int64_t pool = 0; pool < curr.getPools(); ++pool)
    for (const Piece &piece : curr.getShared(pool)) {
      coverage.add(
          piece,
          [&](Holder holder) {
            return holder.isPool ? ArrayRef<int64_t>(groupsOf[holder.number])
                                 : ArrayRef<int64_t>();
          },
          [&](int64_t place, int64_t bytes) {
            benefits.atGroups(pool, place) += bytes;
          });
      if (prev.ownsAll() || (prev.hasRanges() && !curr.hasRanges()))
        coverage.add(
            piece,
            [&](Holder holder) {
              return holder.isPool
                         ? ArrayRef<int64_t>()
                         : ArrayRef<int64_t>(classesOf[holder.number]);
            },
            [&](int64_t place, int64_t bytes) {
              for (int64_t role : curr.getRoles(pool))
                benefits.add(role, place, bytes);
            });
    }
  // What an inventory lists may be what all roles of a pool share.
  SmallVector<SmallVector<int64_t>> poolsOf;
  for (int32_t number : group)
    poolsOf.push_back(pools[number]);
  const auto classesOfPools = invert(poolsOf, prev.getPools());
  for (int64_t role = 0; role < curr.size(); ++role)
    for (const Piece &piece : curr.getOwn(role))
      coverage.add(
          piece,
          [&](Holder holder) {
            return ArrayRef<int64_t>(holder.isPool
                                         ? classesOfPools[holder.number]
                                         : classesOf[holder.number]);
          },
          [&](int64_t place, int64_t bytes) {
            benefits.add(role, place, bytes);
          });
  return benefits;
}

//===----------------------------------------------------------------------===//
// What enters nodes
//===----------------------------------------------------------------------===//

namespace {
/// A piece that moves, and who needs it: a pool or, after all pools, a role.
struct Need {
  Piece piece;
  int32_t needer;
  bool operator<(const Need &other) const {
    return std::tie(piece, needer) < std::tie(other.piece, other.needer);
  }
};
} // namespace

/// All of one side, without padding that is new, sorted.
static std::vector<Need> listNeeds(const TensorTable &table,
                                   const Holdings &prev, const Holdings &curr) {
  std::vector<Need> needs;
  const auto add = [&](ArrayRef<Piece> pieces, int64_t needer) {
    for (const Piece &piece : pieces)
      if (auto old = getOldPart(table, prev, piece))
        needs.push_back({*old, static_cast<int32_t>(needer)});
  };
  for (int64_t pool = 0; pool < curr.getPools(); ++pool)
    add(curr.getShared(pool), pool);
  for (int64_t role = 0; role < curr.size(); ++role)
    add(curr.getOwn(role), curr.getPools() + role);
  llvm::sort(needs);
  return needs;
}

std::optional<Entering> NodeClasses::listEntering(const TensorTable &table,
                                                  const Holdings &prev,
                                                  const Holdings &curr) const {
  // Boxes of an inventory may overlap in any way.
  if (prev.isListed() || curr.isListed())
    return std::nullopt;
  constexpr int64_t most = 1 << 18;
  if ((curr.size() + curr.getPools()) * static_cast<int64_t>(roles.size()) >
      most)
    return std::nullopt;
  SmallVector<SmallVector<int64_t>> poolsOf;
  for (int32_t number : group)
    poolsOf.push_back(pools[number]);
  const auto ofPools = invert(poolsOf, prev.getPools()),
             ofRoles = invert(roles, prev.size());
  const Coverage coverage(table, prev);
  const std::vector<Need> needs = listNeeds(table, prev, curr);
  Entering entering;
  entering.contentsOf.resize(curr.size());
  std::map<SmallVector<int32_t>, int32_t> contents; // by who needs them
  for (auto it = needs.begin(); it != needs.end();) {
    const Piece piece = it->piece;
    SmallVector<int32_t> needers;
    for (; it != needs.end() && it->piece == piece; ++it)
      needers.push_back(it->needer);
    auto [known, isNew] =
        contents.try_emplace(needers, static_cast<int32_t>(contents.size()));
    if (isNew) {
      entering.lacking.emplace_back(roles.size());
      entering.bytes.push_back(0);
    }
    entering.bytes[known->second] += table.getMovedBytes(piece);
    std::vector<int64_t> &lacking = entering.lacking[known->second];
    for (int64_t &bytes : lacking)
      bytes += table.getMovedBytes(piece);
    coverage.add(
        piece,
        [&](Holder holder) {
          return ArrayRef<int64_t>(
              (holder.isPool ? ofPools : ofRoles)[holder.number]);
        },
        [&](int64_t place, int64_t bytes) { lacking[place] -= bytes; });
  }
  for (const auto &[needers, content] : contents)
    for (int32_t needer : needers) {
      if (needer >= curr.getPools()) {
        entering.contentsOf[needer - curr.getPools()].push_back(content);
        continue;
      }
      for (int64_t role : curr.getRoles(needer))
        entering.contentsOf[role].push_back(content);
    }
  for (std::vector<int32_t> &list : entering.contentsOf)
    llvm::sort(list);
  return entering;
}
