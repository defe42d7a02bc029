//===- Fragments.cpp - What a device can get from one source --------------===//

#include "etc/Analysis/Fragments.h"

#include "etc/Analysis/MigrationFleet.h"

using namespace etc;

namespace {
struct HeldPart {
  Piece piece;
  llvm::SmallVector<Holder, 0> holders;
};
} // namespace

/// Of what holders have of a lacking piece, the parts whose holders are the
/// same.
static llvm::SmallVector<HeldPart, 0>
cutByHolders(const Piece &piece, llvm::ArrayRef<HolderIndex::Entry> entries) {
  llvm::SmallVector<HeldPart, 0> parts = {{piece, {}}}, next;
  for (const HolderIndex::Entry &entry : entries) {
    if (!intersects(piece, entry.piece))
      continue;
    // Mostly an entry has all of what is lacking.
    if (contains(entry.piece, piece)) {
      for (HeldPart &part : parts)
        llvm::append_range(part.holders, entry.holders);
      continue;
    }
    next.clear();
    for (HeldPart &part : parts) {
      std::optional<Piece> inside = intersect(part.piece, entry.piece);
      if (!inside) {
        next.push_back(std::move(part));
        continue;
      }
      for (const Piece &outside : subtract(part.piece, *inside))
        next.push_back({outside, part.holders});
      llvm::append_range(part.holders, entry.holders);
      next.push_back({*inside, std::move(part.holders)});
    }
    std::swap(parts, next);
  }
  return parts;
}

bool FragmentTable::isOn(int64_t node, llvm::ArrayRef<Holder> holders) const {
  return llvm::any_of(fleet.findHolders(holders), [&](int64_t device) {
    return fleet.getNode(device) == node;
  });
}

/// The parts of pieces that have twins whose holders are the same, tensor by
/// tensor. Each holder is listed with the tensor that it reads.
void FragmentTable::cutTied(const Piece &piece,
                            llvm::ArrayRef<unsigned> sources,
                            TiedParts &parts) const {
  TiedParts all = {{piece, {}}}, next;
  for (unsigned source : sources) {
    next.clear();
    for (const TiedPart &part : all)
      for (HeldPart &held :
           cutByHolders(part.piece, holders.find(source, part.piece))) {
        llvm::erase_if(held.holders, [&](Holder holder) {
          return llvm::any_of(part.ofTensors, [&](const auto &earlier) {
            return llvm::is_contained(earlier.second, holder);
          });
        });
        next.push_back({held.piece, part.ofTensors});
        next.back().ofTensors.emplace_back(source, std::move(held.holders));
      }
    std::swap(all, next);
  }
  llvm::append_range(parts, all);
}

const FragmentTable::TiedParts &FragmentTable::getTied(const Needs &needs) {
  auto [entry, isNew] = tied.try_emplace(&needs);
  if (isNew)
    for (const Piece &piece : needs.lacking) {
      if (table.getTwins(piece.tensor).empty())
        continue;
      const auto sources = getSources(table, prev, piece.tensor);
      if (sources.size() > 1)
        cutTied(piece, sources, entry->second);
    }
  return entry->second;
}

/// Which of a part's tensors a device of a node gets: its own, unless only a
/// twin is on the node, or is alive.
unsigned FragmentTable::choose(const TiedPart &part, int64_t node) const {
  const auto find = [&](auto isGood) -> std::optional<unsigned> {
    for (auto [number, one] : llvm::enumerate(part.ofTensors))
      if (isGood(one.second))
        return number;
    return std::nullopt;
  };
  using Holders = llvm::SmallVector<Holder, 0>;
  auto chosen = find([&](const Holders &own) { return isOn(node, own); });
  if (!chosen)
    chosen = find(
        [&](const Holders &own) { return !fleet.findHolders(own).empty(); });
  return chosen.value_or(0);
}

void FragmentTable::addPart(unsigned source, const Piece &piece,
                            llvm::SmallVector<Holder, 0> holders,
                            PiecesByKey &byKey, Last &last) const {
  // Not llvm::sort, which takes qsort for what is trivially copied.
  std::sort(holders.begin(), holders.end());
  const std::optional<unsigned> twin =
      source == piece.tensor ? std::nullopt : std::optional(source);
  const bool isLikeLast = last.entry && last.tensor == piece.tensor &&
                          std::get<0>(last.entry->first) == twin &&
                          std::get<2>(last.entry->first) == holders;
  if (!isLikeLast) {
    llvm::SmallVector<unsigned> types(
        table.getMovedTypes(piece.tensor).set_bits());
    Key key(twin, std::move(types), std::move(holders));
    last = {piece.tensor, &*byKey.try_emplace(std::move(key)).first};
  }
  last.entry->second.push_back(piece);
}

llvm::ArrayRef<Fragment> FragmentTable::get(const Needs &needs, int64_t node) {
  const TiedParts &parts = getTied(needs);
  llvm::SmallVector<unsigned, 0> choices;
  for (const TiedPart &part : parts)
    choices.push_back(choose(part, node));
  auto [entry, isNew] = ofNeeds.try_emplace({&needs, choices});
  std::vector<Fragment> &fragments = entry->second;
  if (!isNew)
    return fragments;
  PiecesByKey byKey;
  Last last;
  size_t next = 0; // of the tied parts
  for (const Piece &piece : needs.lacking) {
    for (; next < parts.size() && parts[next].piece.isOfSame(piece) &&
           contains(piece, parts[next].piece);
         ++next) {
      const auto &[tensor, its] = parts[next].ofTensors[choices[next]];
      addPart(tensor, parts[next].piece, its, byKey, last);
    }
    // The pass that asks has checked that there is one.
    const auto sources = getSources(table, prev, piece.tensor);
    if (sources.size() == 1)
      for (HeldPart &part :
           cutByHolders(piece, holders.find(sources.front(), piece)))
        addPart(sources.front(), part.piece, std::move(part.holders), byKey,
                last);
  }
  for (auto &[key, pieces] : byKey) {
    auto &[twin, numbers, holders] = key;
    // What two devices lack is alike only if it is in the same order, and how a
    // piece is cut depends on what else a device lacks.
    std::sort(pieces.begin(), pieces.end());
    int64_t bytes = 0;
    for (const Piece &piece : pieces)
      bytes += table.getMovedBytes(piece);
    llvm::SmallBitVector types(table.getTypeCount());
    for (unsigned type : numbers)
      types.set(type);
    const int64_t unit =
        table.getMovedBytes(pieces.front()) / pieces.front().size();
    fragments.push_back({pieces, types, holders, bytes, unit});
  }
  return fragments;
}

/// What ids name, tensor by tensor; parts of one tensor in the order of the
/// ids.
static llvm::SmallVector<Piece, 0>
listInOrder(mlir::ArrayAttr ids, const llvm::SmallBitVector &types,
            const TensorTable &table) {
  llvm::SmallVector<Piece> pieces = table.expand(ids, types);
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const Piece &a, const Piece &b) {
                     return std::tie(a.tensor, a.layer, a.expert) <
                            std::tie(b.tensor, b.layer, b.expert);
                   });
  return {pieces.begin(), pieces.end()};
}

mlir::ArrayAttr etc::foldInOrder(const Fragment &fragment,
                                 const TensorTable &table) {
  llvm::ArrayRef<Piece> pieces = fragment.pieces;
  mlir::ArrayAttr folded =
      foldWorkloads(table, llvm::to_vector(pieces), fragment.types);
  const bool isInParts = std::adjacent_find(pieces.begin(), pieces.end(),
                                            [](const Piece &a, const Piece &b) {
                                              return a.isOfSame(b);
                                            }) != pieces.end();
  if (!isInParts || listInOrder(folded, fragment.types, table) == pieces)
    return folded;
  llvm::SmallVector<mlir::Attribute> ids;
  for (const Piece &piece : pieces)
    llvm::append_range(ids, foldWorkloads(table, {piece}, fragment.types));
  return mlir::ArrayAttr::get(folded.getContext(), ids);
}

Fragment etc::inTypes(Fragment fragment, const llvm::SmallBitVector &types,
                      const TensorTable &table) {
  fragment.types &= types;
  fragment.unit = fragment.bytes = 0;
  for (unsigned type : fragment.types.set_bits())
    fragment.unit += table.getTypeBytes(type);
  for (const Piece &piece : fragment.pieces)
    fragment.bytes += piece.size() * fragment.unit;
  return fragment;
}

Fragment etc::readFragment(DemandOp op, const TensorTable &table) {
  const llvm::SmallBitVector types = table.getTypes(op.getWt());
  return inTypes(
      {listInOrder(op.getWid(), types, table), types, readHolders(op), 0, 0},
      types, table);
}
