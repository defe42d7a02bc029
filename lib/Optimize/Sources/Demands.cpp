//===- Demands.cpp - Who lacks what ---------------------------------------===//

#include "etc/Optimize/Sources/Demands.h"

#include "llvm/ADT/Sequence.h"

#include <map>

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

/// What a device lacks is another fragment than what a device with another
/// previous role does, but often the same pieces.
static bool isLess(const Fragment *a, const Fragment *b) {
  auto typesOf = [](const Fragment &fragment) {
    return SmallVector<unsigned>(fragment.types.set_bits());
  };
  auto first = std::tie(a->bytes, a->holders, a->pieces),
       second = std::tie(b->bytes, b->holders, b->pieces);
  return first != second ? first < second : typesOf(*a) < typesOf(*b);
}

SmallVector<SmallVector<unsigned>> Demands::groupAlike(bool hasRanges) const {
  std::map<const Fragment *, size_t, decltype(&isLess)> numbers(&isLess);
  SmallVector<SmallVector<unsigned>> groups;
  for (unsigned number : inOrder(hasRanges)) {
    auto [entry, isNew] =
        numbers.try_emplace(list[number].fragment, groups.size());
    if (isNew)
      groups.emplace_back();
    groups[entry->second].push_back(number);
  }
  return groups;
}

/// None of the pieces.
static Fragment emptyLike(const Fragment &fragment) {
  return {{}, fragment.types, fragment.holders, /*bytes=*/0, fragment.unit};
}

static void append(Fragment &fragment, const Piece &piece) {
  fragment.pieces.push_back(piece);
  fragment.bytes += piece.size() * fragment.unit;
}

/// What of a piece lies before and behind its first `elements`, as nearly as
/// whole positions of its longest axis allow.
static std::pair<Piece, Piece> cut(const Piece &piece, int64_t elements) {
  unsigned longest = Piece::Outer;
  for (unsigned axis : {Piece::Cut, Piece::Inner})
    if (piece[axis].size() > piece[longest].size())
      longest = axis;
  const int64_t positions = piece[longest].size(),
                thickness = piece.size() / positions,
                place = piece[longest].begin +
                        (elements + thickness / 2) / thickness;
  std::pair<Piece, Piece> parts(piece, piece);
  parts.first[longest].end = parts.second[longest].begin = place;
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

/// How a piece is divided: along the outermost axis that is long enough, so
/// that what is contiguous stays so; along the cut axis, within each of the few
/// outer positions.
struct Grid {
  unsigned axis;
  int64_t turns = 1; ///< how often the axis is gone through
};

static Grid gridOf(const Piece &piece, int64_t parts) {
  if (piece.outer.size() >= 4 * parts)
    return {Piece::Outer};
  if (piece.outer.size() * piece.cut.size() >= 4 * parts)
    return {Piece::Cut, piece.outer.size()};
  return {Piece::Inner};
}

/// Appends positions [begin, end) of all turns together.
static void appendPositions(Fragment &fragment, const Piece &piece, Grid grid,
                            int64_t begin, int64_t end) {
  const Span all = piece[grid.axis];
  for (int64_t turn = 0; turn < grid.turns; ++turn) {
    Piece part = piece;
    if (grid.turns > 1)
      part.outer = {piece.outer.begin + turn, piece.outer.begin + turn + 1};
    const int64_t before = turn * all.size();
    part[grid.axis] = {
        all.begin + std::clamp<int64_t>(begin - before, 0, all.size()),
        all.begin + std::clamp<int64_t>(end - before, 0, all.size())};
    if (part.size() > 0)
      append(fragment, part);
  }
}

/// `size` * `share` / `whole`, rounded to the nearest.
static int64_t scale(int64_t size, int64_t share, int64_t whole) {
  return static_cast<int64_t>(
      (2 * static_cast<__int128>(size) * share + whole) / (2 * whole));
}

/// The pieces of one window, one after the other, in stripes.
static void divideWindow(ArrayRef<Piece> pieces, ArrayRef<int64_t> shares,
                         int64_t whole, std::vector<Fragment> &parts) {
  int64_t elements = 0;
  for (const Piece &piece : pieces)
    elements += piece.size();
  // Cuts that are so near to the end of a piece are made there.
  const int64_t count = parts.size(), near = elements / (32 * count);
  int64_t number = 0, behind = 0;
  auto endOf = [&](int64_t part) {
    return part + 1 < count ? scale(elements, shares[part], whole) : elements;
  };
  for (const Piece &piece : pieces) {
    const int64_t size = piece.size();
    const Grid grid = gridOf(piece, count);
    const int64_t positions = piece[grid.axis].size() * grid.turns;
    int64_t begin = 0;
    for (; endOf(number) + near < behind + size; ++number) {
      const int64_t inside = endOf(number) - behind;
      const int64_t end = inside <= near ? 0 : scale(positions, inside, size);
      appendPositions(parts[number], piece, grid, begin, end);
      begin = std::max(begin, end);
    }
    appendPositions(parts[number], piece, grid, begin, positions);
    behind += size;
    while (number + 1 < count && endOf(number) <= behind + near)
      ++number;
  }
}

std::vector<Fragment> etc::divideFragment(const Fragment &fragment,
                                          ArrayRef<int64_t> shares,
                                          int64_t whole, int64_t window) {
  std::vector<Fragment> parts(shares.size() + 1, emptyLike(fragment));
  ArrayRef<Piece> rest = fragment.pieces;
  while (!rest.empty()) {
    size_t count = 0;
    for (int64_t bytes = 0; count < rest.size() && (bytes < window || !count);
         ++count)
      bytes += rest[count].size() * fragment.unit;
    divideWindow(rest.take_front(count), shares, whole, parts);
    rest = rest.drop_front(count);
  }
  return parts;
}

void Demands::addParts(const Demand &from, std::vector<Fragment> parts) {
  if (parts.size() == 1)
    return add(*from.fragment, from.destinations);
  for (Fragment &part : parts)
    addOwn(std::move(part), from.destinations);
}

namespace {
/// What makes pieces of several demands the same bytes: the piece, and a number
/// for the types and the holders.
using TakenKey = std::pair<Piece, size_t>;

/// Lists of devices that somebody else keeps.
struct Before {
  using Key = std::pair<bool, ArrayRef<int64_t>>;
  bool operator()(const Key &a, const Key &b) const {
    return a.first != b.first
               ? a.first < b.first
               : std::lexicographical_compare(a.second.begin(), a.second.end(),
                                              b.second.begin(), b.second.end());
  }
};
} // namespace

Demands Demands::splitByTakers(const TensorSet &apart) const {
  std::map<std::pair<SmallVector<unsigned>, SmallVector<Holder, 0>>, size_t>
      kinds;
  std::map<TakenKey, SmallVector<int64_t>> takers;
  std::vector<SmallVector<int64_t> *> takersOf; // piece by piece
  for (const Demand &demand : list) {
    const Fragment &whole = *demand.fragment;
    const size_t kind =
        kinds
            .try_emplace(
                {SmallVector<unsigned>(whole.types.set_bits()), whole.holders},
                kinds.size())
            .first->second;
    for (const Piece &piece : whole.pieces) {
      takersOf.push_back(&takers[{piece, kind}]);
      llvm::append_range(*takersOf.back(), demand.destinations);
    }
  }
  for (auto &[key, devices] : takers)
    llvm::sort(devices);
  Demands split;
  auto next = takersOf.begin();
  for (const Demand &demand : list) {
    const Fragment &whole = *demand.fragment;
    std::map<Before::Key, size_t, Before> numbers;
    std::vector<Fragment> parts;
    for (const Piece &piece : whole.pieces) {
      const bool isApart = apart.contains(tensorOf(piece));
      auto [entry, isNew] =
          numbers.try_emplace({isApart, **next++}, parts.size());
      if (isNew)
        parts.push_back(emptyLike(whole));
      append(parts[entry->second], piece);
    }
    split.addParts(demand, std::move(parts));
  }
  return split;
}
