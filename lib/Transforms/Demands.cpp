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

/// What of a piece lies before and behind its first `elements`, as nearly as
/// whole positions of its longest axis allow.
static std::pair<Piece, Piece> cut(const Piece &piece, int64_t elements) {
  Span Piece::*longest = &Piece::outer;
  for (Span Piece::*axis : {&Piece::cut, &Piece::inner})
    if ((piece.*axis).size() > (piece.*longest).size())
      longest = axis;
  const int64_t positions = (piece.*longest).size(),
                thickness = piece.size() / positions,
                place = (piece.*longest).begin +
                        (elements + thickness / 2) / thickness;
  std::pair<Piece, Piece> parts(piece, piece);
  (parts.first.*longest).end = (parts.second.*longest).begin = place;
  return parts;
}

std::vector<Fragment> etc::cutFragment(const Fragment &fragment,
                                       ArrayRef<int64_t> cuts) {
  const size_t count = cuts.size() + 1;
  std::vector<Fragment> parts = {emptyLike(fragment)};
  int64_t behind = 0; // bytes
  auto take = [&](const Piece &piece) {
    behind += piece.size() * fragment.unit;
    if (piece.size() > 0)
      append(parts.back(), piece);
  };
  for (Piece rest : fragment.pieces) {
    while (rest.size() > 0 && !cuts.empty() &&
           cuts.front() < behind + rest.size() * fragment.unit) {
      // The cut before may have been rounded beyond this one.
      const int64_t bytes = std::max<int64_t>(0, cuts.front() - behind);
      auto [before, after] = cut(rest, bytes / fragment.unit);
      take(before);
      parts.push_back(emptyLike(fragment));
      cuts = cuts.drop_front();
      rest = after;
    }
    take(rest);
  }
  parts.resize(count, emptyLike(fragment));
  return parts;
}

void Demands::addParts(const Demand &from, std::vector<Fragment> parts) {
  if (parts.size() == 1)
    return add(*from.fragment, from.destinations);
  for (Fragment &part : parts)
    addOwn(std::move(part), from.destinations);
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
