//===- Crossing.cpp - Bytes that cross the border of some devices ---------===//

#include "etc/Analysis/Crossing.h"

#include <map>
#include <set>

using namespace etc;
using llvm::SmallVector;

namespace {
/// What a set of devices had of a tensor, and what it will have.
struct Shares {
  SmallVector<Piece> held, needed;
};

class EnteringCounter {
public:
  EnteringCounter(const TensorTable &table, const BothHoldings &holdings)
      : table(table), holdings(holdings) {}

  void addPrev(int64_t role);
  void addCurr(int64_t role);
  int64_t count(bool ofPause);

  using Key = std::tuple<unsigned, int64_t, int64_t>;
  std::map<Key, Shares> &getShares() { return shares; }

private:
  /// Those of a tensor and of its twin.
  Shares &sharesOf(Piece &piece) {
    piece.tensor = table.getPrimary(piece.tensor).value_or(piece.tensor);
    return shares[{piece.tensor, piece.layer, piece.expert}];
  }
  void addHeld(llvm::ArrayRef<Piece> pieces);
  void addNeeded(llvm::ArrayRef<Piece> pieces);

  const TensorTable &table;
  const BothHoldings &holdings;
  std::map<Key, Shares> shares;
  std::set<int64_t> prevRoles, prevPools, currRoles, currPools;
};
} // namespace

void EnteringCounter::addHeld(llvm::ArrayRef<Piece> pieces) {
  for (Piece piece : pieces)
    sharesOf(piece).held.push_back(piece);
}

/// Padding that the previous side did not have is made, not moved.
void EnteringCounter::addNeeded(llvm::ArrayRef<Piece> pieces) {
  for (const Piece &piece : pieces)
    if (std::optional<Piece> old = getOldPart(table, holdings.prev, piece))
      sharesOf(*old).needed.push_back(*old);
}

void EnteringCounter::addPrev(int64_t role) {
  const int64_t pool = holdings.prev.getPool(role);
  if (prevPools.insert(pool).second)
    addHeld(holdings.prev.getShared(pool));
  if (prevRoles.insert(role).second)
    addHeld(holdings.prev.getOwn(role));
}

void EnteringCounter::addCurr(int64_t role) {
  const int64_t pool = holdings.curr.getPool(role);
  if (currPools.insert(pool).second)
    addNeeded(holdings.curr.getShared(pool));
  if (currRoles.insert(role).second)
    addNeeded(holdings.curr.getOwn(role));
}

/// Pieces that are neighbours or equal become one.
static void merge(SmallVector<Piece> &pieces) {
  std::sort(pieces.begin(), pieces.end());
  pieces.erase(std::unique(pieces.begin(), pieces.end()), pieces.end());
  joinPieces(pieces);
}

static int64_t bytesOf(const TensorTable &table, const Piece &piece,
                       bool ofPause) {
  return ofPause ? table.getUrgentBytes(piece) : table.getMovedBytes(piece);
}

int64_t EnteringCounter::count(bool ofPause) {
  int64_t bytes = 0;
  for (auto &[key, its] : shares) {
    merge(its.held);
    merge(its.needed);
    for (const Piece &piece : its.needed) {
      for (const Piece &rest : subtract(llvm::ArrayRef(piece), its.held))
        bytes += bytesOf(table, rest, ofPause);
      // What others need of the same counts once.
      its.held.push_back(piece);
    }
  }
  return bytes;
}

namespace {
/// Counts what has to leave, by the shares of groups of devices: those of a
/// node that are not inner, an inner one each, and all outside.
class LeavingCounter {
public:
  LeavingCounter(const TensorTable &table, const BothHoldings &holdings)
      : table(table), holdings(holdings) {}

  /// -1: outside; devices of a node, and an inner one of them or -1.
  using Group = std::pair<int64_t, int64_t>;
  static constexpr Group kOutside = {-1, -1};

  EnteringCounter &of(Group group) {
    return groups.try_emplace(group, table, holdings).first->second;
  }
  int64_t count(bool ofPause);

private:
  /// By tensor, layer and expert, and by group.
  using Key = EnteringCounter::Key;
  using Its = std::map<Group, const Shares *>;
  int64_t countOf(const Its &its, bool ofPause) const;

  const TensorTable &table;
  const BothHoldings &holdings;
  std::map<Group, EnteringCounter> groups;
};
} // namespace

/// For each group in turn, what it needs of what neither stays nor is counted.
int64_t LeavingCounter::countOf(const Its &its, bool ofPause) const {
  SmallVector<Piece> outside, notInner, counted;
  std::map<int64_t, SmallVector<Piece>> onNode;
  bool hasInner = false;
  for (const auto &[group, shares] : its) {
    llvm::append_range(onNode[group.first], shares->held);
    if (group == kOutside)
      outside = shares->held;
    if (group.second < 0)
      llvm::append_range(notInner, shares->held);
    else
      hasInner = true;
  }
  int64_t bytes = 0;
  const auto add = [&](llvm::ArrayRef<Piece> needed,
                       std::initializer_list<llvm::ArrayRef<Piece>> staying) {
    SmallVector<Piece> rest(needed);
    for (llvm::ArrayRef<Piece> pieces : staying)
      rest = subtract(rest, pieces);
    for (const Piece &piece : rest) { // which may overlap
      for (const Piece &added : subtract(llvm::ArrayRef(piece), counted))
        bytes += bytesOf(table, added, ofPause);
      counted.push_back(piece);
    }
  };
  for (const auto &[group, shares] : its) {
    add(shares->needed, {outside, onNode[group.first]});
    if (group.second >= 0)
      add(shares->needed, {notInner, shares->held});
    else if (hasInner)
      add(shares->needed, {notInner});
  }
  return bytes;
}

int64_t LeavingCounter::count(bool ofPause) {
  std::map<Key, Its> byTensor;
  for (auto &[group, counter] : groups)
    for (auto &[key, shares] : counter.getShares()) {
      merge(shares.held);
      merge(shares.needed);
      byTensor[key][group] = &shares;
    }
  int64_t bytes = 0;
  for (const auto &[key, its] : byTensor)
    bytes += countOf(its, ofPause);
  return bytes;
}

int64_t etc::countEntering(const llvm::BitVector &devices,
                           const llvm::BitVector &holders,
                           const TensorTable &table,
                           const BothHoldings &holdings, const Devices &fleet,
                           const DeviceNeeds &needs, bool ofPause) {
  EnteringCounter counter(table, holdings);
  for (unsigned device : holders.set_bits())
    if (fleet.getPrevRole(device) >= 0)
      counter.addPrev(fleet.getPrevRole(device));
  for (unsigned device : devices.set_bits())
    if (needs.getCurrRole(device) >= 0)
      counter.addCurr(needs.getCurrRole(device));
  return counter.count(ofPause);
}

int64_t etc::countLeaving(const llvm::BitVector &devices,
                          const llvm::BitVector &inner,
                          const TensorTable &table,
                          const BothHoldings &holdings, const Devices &fleet,
                          const DeviceNeeds &needs, bool ofPause) {
  LeavingCounter counter(table, holdings);
  for (int64_t device = 0; device < fleet.size(); ++device) {
    const int64_t prev = fleet.getPrevRole(device),
                  curr = needs.getCurrRole(device);
    const LeavingCounter::Group group =
        devices.test(device)
            ? LeavingCounter::Group(fleet.getNode(device),
                                    inner.test(device) ? device : -1)
            : LeavingCounter::kOutside;
    if (prev >= 0)
      counter.of(group).addPrev(prev);
    if (curr >= 0)
      counter.of(group).addCurr(curr);
  }
  return counter.count(ofPause);
}
