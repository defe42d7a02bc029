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
  std::map<std::tuple<unsigned, int64_t, int64_t>, Shares> shares;
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

int64_t EnteringCounter::count(bool ofPause) {
  int64_t bytes = 0;
  for (auto &[key, its] : shares) {
    merge(its.held);
    merge(its.needed);
    for (const Piece &piece : its.needed) {
      for (const Piece &rest : subtract(llvm::ArrayRef(piece), its.held))
        bytes +=
            ofPause ? table.getUrgentBytes(rest) : table.getMovedBytes(rest);
      // What others need of the same counts once.
      its.held.push_back(piece);
    }
  }
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
