//===- TiedContents.cpp - What is lacking of tied tensors -----------------===//
//
// Copies of a tensor may be cut differently, so all borders of what anybody
// holds or needs divide a content into cells.
//
//===----------------------------------------------------------------------===//

#include "etc/Analysis/TiedContents.h"

#include <map>

using namespace etc;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {
/// A box of a content, and the number of those that hold or need it alike.
struct Mark {
  Piece box;
  size_t party;
};

/// Devices of a role, or of a pool.
struct Party {
  std::vector<int32_t> devices;
  bool isNeeder;
};

class ContentLister {
public:
  ContentLister(const TensorTable &table, const BothHoldings &holdings,
                const Devices &devices, const DeviceNeeds &needs)
      : table(table), holdings(holdings), devices(devices), needs(needs) {}

  TiedContents list(const llvm::SmallBitVector &types);

private:
  void addParties(Side side);
  void addParty(Party party, ArrayRef<Piece> pieces);
  void addContent(ArrayRef<size_t> cell, int64_t bytes);
  int64_t unitOf(unsigned tensor, const llvm::SmallBitVector &types) const;

  const TensorTable &table;
  const BothHoldings &holdings;
  const Devices &devices;
  const DeviceNeeds &needs;
  llvm::SmallBitVector tied;
  std::vector<Party> parties;
  /// By tensor, layer and expert.
  std::map<std::tuple<unsigned, int64_t, int64_t>, std::vector<Mark>> marks;
  std::map<std::pair<std::vector<int32_t>, std::vector<int32_t>>, int64_t>
      bytesOf; ///< by holders and needers
};
} // namespace

/// Tells of the cells into which boxes divide each other, from an axis on, with
/// the boxes that have each and its size.
static void
forCells(SmallVector<const Mark *> boxes, unsigned axis, int64_t size,
         llvm::function_ref<void(ArrayRef<const Mark *>, int64_t)> function) {
  if (axis == Piece::rank())
    return function(boxes, size);
  SmallVector<int64_t> borders;
  for (const Mark *mark : boxes) {
    borders.push_back(mark->box[axis].begin);
    borders.push_back(mark->box[axis].end);
  }
  llvm::sort(borders);
  borders.erase(llvm::unique(borders), borders.end());
  llvm::sort(boxes, [&](const Mark *a, const Mark *b) {
    return a->box[axis].begin < b->box[axis].begin;
  });
  SmallVector<const Mark *> open;
  auto next = boxes.begin();
  for (size_t i = 0; i + 1 < borders.size(); ++i) {
    llvm::erase_if(open, [&](const Mark *mark) {
      return mark->box[axis].end == borders[i];
    });
    for (; next != boxes.end() && (*next)->box[axis].begin == borders[i];
         ++next)
      open.push_back(*next);
    if (!open.empty())
      forCells(open, axis + 1, size * (borders[i + 1] - borders[i]), function);
  }
}

/// Padding that the previous side did not have is made, not moved.
void ContentLister::addParty(Party party, ArrayRef<Piece> pieces) {
  const size_t number = parties.size();
  for (unsigned tensor : tied.set_bits()) {
    Piece key;
    key.tensor = tensor;
    for (const Piece *piece = llvm::lower_bound(pieces, key);
         piece != pieces.end() && piece->tensor == tensor; ++piece) {
      const std::optional<Piece> known =
          party.isNeeder ? getOldPart(table, holdings.prev, *piece) : *piece;
      if (known)
        marks[{table.getPrimary(tensor).value_or(tensor), piece->layer,
               piece->expert}]
            .push_back({*known, number});
    }
  }
  parties.push_back(std::move(party));
}

void ContentLister::addParties(Side side) {
  const Holdings &its = side == Side::Prev ? holdings.prev : holdings.curr;
  std::map<int64_t, std::vector<int32_t>> ofPool, ofRole;
  for (int64_t device = 0; device < devices.size(); ++device) {
    const int64_t role = side == Side::Prev ? devices.getPrevRole(device)
                                            : needs.getCurrRole(device);
    if (role < 0)
      continue;
    ofPool[its.getPool(role)].push_back(static_cast<int32_t>(device));
    ofRole[role].push_back(static_cast<int32_t>(device));
  }
  for (auto &[pool, list] : ofPool)
    addParty({std::move(list), side == Side::Curr}, its.getShared(pool));
  for (auto &[role, list] : ofRole)
    addParty({std::move(list), side == Side::Curr}, its.getOwn(role));
}

int64_t ContentLister::unitOf(unsigned tensor,
                              const llvm::SmallBitVector &types) const {
  int64_t unit = 0;
  for (unsigned type : table.getMovedTypes(tensor).set_bits())
    unit += types.test(type) ? table.getTypeBytes(type) : 0;
  return unit;
}

void ContentLister::addContent(ArrayRef<size_t> cell, int64_t bytes) {
  std::vector<int32_t> holders, all;
  for (size_t number : cell) {
    const auto &[list, isNeeder] = parties[number];
    llvm::append_range(isNeeder ? all : holders, list);
  }
  for (std::vector<int32_t> *list : {&holders, &all}) {
    llvm::sort(*list);
    list->erase(llvm::unique(*list), list->end());
  }
  std::vector<int32_t> needers;
  std::set_difference(all.begin(), all.end(), holders.begin(), holders.end(),
                      std::back_inserter(needers));
  if (!needers.empty())
    bytesOf[{std::move(holders), std::move(needers)}] += bytes;
}

TiedContents ContentLister::list(const llvm::SmallBitVector &types) {
  tied.resize(table.size());
  for (unsigned tensor = 0; tensor < table.size(); ++tensor)
    if (!table.getTwins(tensor).empty())
      tied.set(tensor);
  if (tied.none())
    return {};
  addParties(Side::Prev);
  addParties(Side::Curr);
  // Most cells are had by the same as others.
  std::map<SmallVector<size_t>, int64_t> cells;
  for (const auto &[key, its] : marks) {
    SmallVector<const Mark *> boxes;
    for (const Mark &mark : its)
      boxes.push_back(&mark);
    const int64_t unit = unitOf(std::get<0>(key), types);
    forCells(std::move(boxes), 0, 1,
             [&](ArrayRef<const Mark *> open, int64_t size) {
               SmallVector<size_t> cell;
               for (const Mark *mark : open)
                 cell.push_back(mark->party);
               llvm::sort(cell);
               cells[std::move(cell)] += size * unit;
             });
  }
  for (const auto &[cell, bytes] : cells)
    if (bytes > 0)
      addContent(cell, bytes);
  TiedContents contents = {tied, {}};
  for (const auto &[sets, bytes] : bytesOf)
    contents.list.push_back({sets.first, sets.second, bytes});
  return contents;
}

TiedContents etc::listTiedContents(const TensorTable &table,
                                   const BothHoldings &holdings,
                                   const Devices &devices,
                                   const DeviceNeeds &needs,
                                   const llvm::SmallBitVector &types) {
  return ContentLister(table, holdings, devices, needs).list(types);
}
