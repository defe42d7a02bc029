//===- CrossingTolls.cpp - The tolls that bytes have to pay ---------------===//

#include "etc/Analysis/Crossing.h"
#include "etc/Elements.h"

#include <map>

using namespace etc;

namespace {
using Marks = std::vector<Mark<Piece>>;

/// What the devices hold and need, by tensor, layer and expert. A tied copy and
/// its twin are one tensor.
class MarkedPieces {
public:
  MarkedPieces(const TensorTable &table, const BothHoldings &holdings)
      : table(table), holdings(holdings) {}

  void addHolder(int64_t role, int32_t number) {
    const int64_t pool = holdings.prev.getPool(role);
    for (llvm::ArrayRef<Piece> pieces :
         {holdings.prev.getShared(pool), holdings.prev.getOwn(role)})
      for (const Piece &piece : pieces)
        add(piece, /*isNeeded=*/false, number);
  }
  /// Padding that the previous side did not have is made, not moved.
  void addNeeder(int64_t role, int32_t number) {
    const int64_t pool = holdings.curr.getPool(role);
    for (llvm::ArrayRef<Piece> pieces :
         {holdings.curr.getShared(pool), holdings.curr.getOwn(role)})
      for (const Piece &piece : pieces)
        if (auto old = getOldPart(table, holdings.prev, piece))
          add(*old, /*isNeeded=*/true, number);
  }

  std::map<std::tuple<unsigned, int64_t, int64_t>, Marks> marks;

private:
  void add(Piece piece, bool isNeeded, int32_t number) {
    piece.tensor = table.getPrimary(piece.tensor).value_or(piece.tensor);
    marks[{piece.tensor, piece.layer, piece.expert}].push_back(
        {piece, isNeeded, number});
  }

  const TensorTable &table;
  const BothHoldings &holdings;
};
} // namespace

int64_t etc::countTolls(const TollCount &tolls,
                        llvm::ArrayRef<int64_t> participants,
                        const TensorTable &table, const BothHoldings &holdings,
                        const Devices &fleet, const DeviceNeeds &needs,
                        bool ofPause) {
  MarkedPieces pieces(table, holdings);
  for (auto [number, device] : llvm::enumerate(participants)) {
    if (fleet.getPrevRole(device) >= 0)
      pieces.addHolder(fleet.getPrevRole(device), static_cast<int32_t>(number));
    if (needs.getCurrRole(device) >= 0)
      pieces.addNeeder(needs.getCurrRole(device), static_cast<int32_t>(number));
  }
  int64_t bytes = 0;
  for (auto &[key, marks] : pieces.marks) {
    const Piece one = {std::get<0>(key), 0, 0, {0, 1}, {0, 1}, {0, 1}};
    bytes += countElements(
                 std::move(marks),
                 [&](const Marks &open) { return countTollsOf(open, tolls); }) *
             (ofPause ? table.getUrgentBytes(one) : table.getMovedBytes(one));
  }
  return bytes;
}
