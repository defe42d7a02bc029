//===- Demands.cpp - Who lacks what ---------------------------------------===//

#include "Demands.h"

#include "llvm/ADT/Sequence.h"

using namespace etc;
using llvm::ArrayRef;
using llvm::SmallVector;

SmallVector<unsigned> Demands::inOrder(bool hasRanges) const {
  SmallVector<unsigned> order;
  auto isShared = [&](const Demand &demand) {
    ArrayRef<Holder> holders = demand.fragment->holders;
    return holders.size() > 1 ||
           (hasRanges && !holders.empty() && holders.front().isPool);
  };
  for (bool shared : {false, true})
    for (auto [number, demand] : llvm::enumerate(list))
      if (isShared(demand) == shared)
        order.push_back(number);
  return order;
}

/// None of the pieces.
static Fragment emptyLike(const Fragment &fragment) {
  return {{},          fragment.types, fragment.tied, fragment.holders,
          /*bytes=*/0, fragment.unit};
}

static void append(Fragment &fragment, const Piece &piece) {
  fragment.pieces.push_back(piece);
  fragment.bytes += piece.size() * fragment.unit;
}

void Demands::addParts(const Demand &from, std::vector<Fragment> parts) {
  if (parts.size() == 1)
    return add(*from.fragment, from.destinations);
  for (Fragment &part : parts)
    add(own.emplace_back(std::move(part)), from.destinations);
}

namespace {
/// What makes pieces of several demands the same bytes.
using TakenKey =
    std::tuple<Piece, bool, SmallVector<unsigned>, SmallVector<Holder, 0>>;
} // namespace

static TakenKey keyOf(const Fragment &fragment, const Piece &piece) {
  return {piece, fragment.tied,
          SmallVector<unsigned>(fragment.types.set_bits()), fragment.holders};
}

Demands Demands::splitByTakers() const {
  std::map<TakenKey, SmallVector<int64_t>> takers;
  for (const Demand &demand : list)
    for (const Piece &piece : demand.fragment->pieces)
      llvm::append_range(takers[keyOf(*demand.fragment, piece)],
                         demand.destinations);
  for (auto &[key, devices] : takers)
    llvm::sort(devices);
  Demands split;
  for (const Demand &demand : list) {
    const Fragment &whole = *demand.fragment;
    std::map<SmallVector<int64_t>, size_t> numbers;
    std::vector<Fragment> parts;
    for (const Piece &piece : whole.pieces) {
      auto [entry, isNew] = numbers.try_emplace(
          takers.find(keyOf(whole, piece))->second, parts.size());
      if (isNew)
        parts.push_back(emptyLike(whole));
      append(parts[entry->second], piece);
    }
    split.addParts(demand, std::move(parts));
  }
  return split;
}

/// A piece in equal parts of at most `most` elements, or of one position of its
/// longest axis.
static SmallVector<Piece> cut(const Piece &piece, int64_t most) {
  Span Piece::*longest = &Piece::outer;
  for (Span Piece::*axis : {&Piece::cut, &Piece::inner})
    if ((piece.*axis).size() > (piece.*longest).size())
      longest = axis;
  const Span whole = piece.*longest;
  const int64_t positions =
      std::max<int64_t>(1, most / (piece.size() / whole.size()));
  const int64_t count = llvm::divideCeil(whole.size(), positions);
  SmallVector<Piece> parts(count, piece);
  for (int64_t part = 0; part < count; ++part)
    parts[part].*longest = {whole.begin + whole.size() * part / count,
                            whole.begin + whole.size() * (part + 1) / count};
  return parts;
}

Demands Demands::splitByBytes(int64_t most) const {
  Demands split;
  for (const Demand &demand : list) {
    const Fragment &whole = *demand.fragment;
    std::vector<Fragment> parts = {emptyLike(whole)};
    for (const Piece &piece : whole.pieces)
      for (const Piece &small : cut(piece, most / whole.unit)) {
        if (!parts.back().pieces.empty() &&
            parts.back().bytes + small.size() * whole.unit > most)
          parts.push_back(emptyLike(whole));
        append(parts.back(), small);
      }
    split.addParts(demand, std::move(parts));
  }
  return split;
}
