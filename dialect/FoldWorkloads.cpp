//===- FoldWorkloads.cpp - Pieces to the coarsest ids ---------------------===//
//
// Layer by layer, and expert by expert within one: every piece becomes the id
// of one tensor; ids that together are a slice of all tensors, or all tensors
// that are not sliced, become one; what lacks nothing becomes the expert or the
// layer. Neighbouring experts and layers that read alike become a range.
//
//===----------------------------------------------------------------------===//

#include "dialect/Workloads.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

using namespace etc;
using namespace mlir;

namespace {
/// An id without its layers. A `tensor` of -1 stands for every tensor of the
/// block, or of the experts.
struct Entry {
  Part part;
  Span experts = {};
  bool replicated = false;
  Span slices = {};
  int tensor = -1;
  std::array<int64_t, 6> positions = {}; ///< begins and ends, `ranges` of them
  unsigned ranges = 0;

  bool operator==(const Entry &) const = default;
  bool isGroup() const { return tensor < 0; }
  bool hasExperts() const { return !experts.empty(); }
  void addRange(Span span) {
    positions[2 * ranges] = span.begin;
    positions[2 * ranges++ + 1] = span.end;
  }
  ArrayRef<int64_t> getBox() const {
    return ArrayRef<int64_t>(positions).take_front(2 * ranges);
  }
  /// Everything of the block, or of its experts.
  bool isAll() const { return isGroup() && !replicated && slices.empty(); }
};
using Entries = SmallVector<Entry, 0>;

class Folder {
public:
  Folder(const TensorTable &table, const llvm::SmallBitVector &types)
      : table(table), types(types) {}
  ArrayAttr fold(SmallVector<Piece> pieces) const;

private:
  /// The tensors of a block's layer that have all of the types: those of
  /// experts, or the others.
  auto members(Part part, bool ofExperts, int64_t layer) const {
    return llvm::make_filter_range(
        llvm::seq(table.size()),
        [this, part, ofExperts, layer](unsigned tensor) {
          return table.getPart(tensor) == part &&
                 table.isOfExpert(tensor) == ofExperts &&
                 table.isInLayer(tensor, layer) &&
                 !types.test(table.getTypes(tensor));
        });
  }
  std::pair<Part, int64_t> place(const Piece &piece) const {
    return {table.getPart(piece.tensor), piece.layer};
  }
  void join(SmallVector<Piece> &pieces) const;
  Entry entryOf(const Piece &piece) const;
  bool standsAlone(const Piece &piece) const;
  Entries foldAlike(ArrayRef<Piece> pieces) const;
  Entries foldExperts(ArrayRef<Piece> pieces) const;
  Entries foldLayer(ArrayRef<Piece> pieces) const;
  void takeGroup(Entries &entries, Entry group, int64_t layer) const;
  bool isWhole(ArrayRef<Entry> entries, bool ofExperts, int64_t layer) const;
  WorkloadAttr toId(const Entry &entry, int64_t first, int64_t last) const;

  const TensorTable &table;
  const llvm::SmallBitVector &types;
};
} // namespace

WorkloadAttr Folder::toId(const Entry &entry, int64_t first,
                          int64_t last) const {
  MLIRContext *context = TensorOp(table[0]).getContext();
  StringAttr name;
  if (!entry.isGroup())
    name = table.getShortName(entry.tensor);
  return WorkloadAttr::get(context, entry.part, first, last, entry.experts,
                           entry.replicated, entry.slices, name,
                           entry.getBox());
}

/// The id of a piece that stands alone.
Entry Folder::entryOf(const Piece &piece) const {
  unsigned tensor = piece.tensor;
  Entry entry{table.getPart(tensor)};
  entry.tensor = tensor;
  bool ofExpert = table.isOfExpert(tensor);
  if (ofExpert)
    entry.experts = {piece.expert, piece.expert + 1};
  Piece whole = table.getWhole(tensor, piece.layer, piece.expert, Side::Curr);
  int64_t slice = table.getSlicePositions(tensor);
  bool inRows = piece.outer == whole.outer && piece.inner == whole.inner;
  if (piece == whole && !table.isPadded(tensor) &&
      (!table.isSplit(tensor) || table.getSliceCount(ofExpert) == 1))
    return entry;
  if (inRows && slice && piece.cut.begin % slice == 0 &&
      piece.cut.end % slice == 0) {
    entry.slices = {piece.cut.begin / slice, piece.cut.end / slice};
    return entry;
  }
  if (!inRows)
    entry.addRange(piece.outer);
  entry.addRange(piece.cut);
  if (!inRows)
    entry.addRange(piece.inner);
  return entry;
}

/// Whether no group is of this tensor only, so that a list of this piece has
/// the id of the piece.
bool Folder::standsAlone(const Piece &piece) const {
  const unsigned tensor = piece.tensor;
  const auto block =
      members(table.getPart(tensor), table.isOfExpert(tensor), piece.layer);
  return llvm::any_of(block, [&](unsigned other) {
    return other != tensor && table.isSplit(other) == table.isSplit(tensor);
  });
}

/// Replaces the entries of single tensors that together are `group` by `group`.
void Folder::takeGroup(Entries &entries, Entry group, int64_t layer) const {
  bool ofExperts = group.hasExperts();
  auto belongs = [&](unsigned tensor) {
    return table.isSplit(tensor) != group.replicated;
  };
  auto matches = [&](const Entry &entry) {
    return !entry.isGroup() && belongs(entry.tensor) && !entry.ranges &&
           entry.slices == group.slices;
  };
  auto first = llvm::find_if(entries, matches);
  if (first == entries.end())
    return;
  auto lacking = std::count_if(first, entries.end(), matches);
  for (unsigned tensor : members(group.part, ofExperts, layer))
    if (belongs(tensor) && --lacking < 0)
      return;
  if (lacking != 0)
    return;
  *first = group;
  // One slice may be all of what is cut, but an id without a suffix means what
  // is not cut, too.
  if (!group.replicated && group.slices.empty())
    first->slices.end = table.getSliceCount(ofExperts);
  entries.erase(std::remove_if(first + 1, entries.end(), matches),
                entries.end());
}

/// Nothing is missing: every slice, and every tensor that is not sliced.
bool Folder::isWhole(ArrayRef<Entry> entries, bool ofExperts,
                     int64_t layer) const {
  bool split = false, replicated = false;
  for (const Entry &entry : entries) {
    const bool all = entry.slices.empty() ||
                     entry.slices == Span{0, table.getSliceCount(ofExperts)};
    if (!entry.isGroup() || !all)
      return false;
    (entry.replicated ? replicated : split) = true;
  }
  return llvm::all_of(members(entries.front().part, ofExperts, layer),
                      [&](unsigned tensor) {
                        return table.isSplit(tensor) ? split : replicated;
                      });
}

/// The ids of one expert, or of what is not of experts, without the layer. An
/// entry that is all of it stands alone.
Entries Folder::foldAlike(ArrayRef<Piece> pieces) const {
  Entries entries;
  SmallVector<Entry, 2> groups; // mostly one
  entries.reserve(pieces.size());
  int64_t layer = pieces.front().layer;
  for (const Piece &piece : pieces) {
    const Entry &entry = entries.emplace_back(entryOf(piece));
    if (entry.ranges)
      continue;
    bool split = table.isSplit(piece.tensor);
    Entry group{entry.part, entry.experts, !split, entry.slices};
    if (!llvm::is_contained(groups, group))
      groups.push_back(group);
  }
  for (const Entry &group : groups)
    takeGroup(entries, group, layer);
  const Entry &front = entries.front();
  if (!isWhole(entries, front.hasExperts(), layer))
    return entries;
  return {Entry{front.part, front.experts}};
}

/// Experts that read alike, one behind the other, become a range.
Entries Folder::foldExperts(ArrayRef<Piece> pieces) const {
  Entries result, run;
  auto flush = [&] { result.append(run.begin(), run.end()); };
  for (ArrayRef<Piece> rest = pieces; !rest.empty();) {
    int64_t expert = rest.front().expert;
    ArrayRef<Piece> alike = rest.take_while(
        [&](const Piece &piece) { return piece.expert == expert; });
    rest = rest.drop_front(alike.size());
    Entries entries = foldAlike(alike);
    Entries joined = entries;
    for (Entry &entry : joined)
      if (!run.empty())
        entry.experts.begin = run.front().experts.begin;
    Entries grown = run;
    for (Entry &entry : grown)
      ++entry.experts.end;
    if (!run.empty() && grown == joined) {
      run = std::move(joined);
      continue;
    }
    flush();
    run = std::move(entries);
  }
  flush();
  return result;
}

/// The ids of one layer (or other block), without the layer.
Entries Folder::foldLayer(ArrayRef<Piece> pieces) const {
  if (table.getExperts() == 0)
    return foldAlike(pieces);
  SmallVector<Piece> dense, ofExperts;
  for (const Piece &piece : pieces)
    (table.isOfExpert(piece.tensor) ? ofExperts : dense).push_back(piece);
  llvm::stable_sort(ofExperts, [](const Piece &a, const Piece &b) {
    return a.expert < b.expert;
  });
  Entries entries = dense.empty() ? Entries() : foldAlike(dense);
  Entries experts = foldExperts(ofExperts);
  auto [part, layer] = place(pieces.front());
  if (members(part, true, layer).empty())
    return entries;
  bool hasDense = !members(part, false, layer).empty();
  bool isDenseWhole = entries.size() == 1 && entries.front().isAll();
  bool areExpertsWhole = experts.size() == 1 && experts.front().isAll() &&
                         experts.front().experts == Span{0, table.getExperts()};
  if (areExpertsWhole && (isDenseWhole || !hasDense))
    return {Entry{part}};
  // Without a suffix an id would mean the experts, too.
  if (isDenseWhole) {
    entries.pop_back();
    auto list = members(part, false, layer);
    auto isSplit = [&](unsigned tensor) { return table.isSplit(tensor); };
    if (llvm::any_of(list, isSplit))
      entries.push_back({part, {}, false, {0, table.getSliceCount(false)}});
    if (!llvm::all_of(list, isSplit))
      entries.push_back({part, {}, true});
  }
  entries.append(experts.begin(), experts.end());
  return entries;
}

/// Joins neighbours. Boxes of a flat range stay apart: each lies in one box of
/// a shard. So does all that roles own, whichever tensor it is of.
void Folder::join(SmallVector<Piece> &pieces) const {
  auto migration = cast<MigrationOp>(TensorOp(table[0])->getParentOp());
  const bool isOwned =
      migration.getPrev().ownsAll() || migration.getCurr().ownsAll();
  auto staysApart = [&](const Piece &piece) {
    return isOwned || table.isFlat(piece.tensor);
  };
  if (llvm::none_of(pieces, staysApart))
    return joinPieces(pieces);
  auto apart = std::stable_partition(pieces.begin(), pieces.end(),
                                     std::not_fn(staysApart));
  SmallVector<Piece> ranges(apart, pieces.end());
  pieces.erase(apart, pieces.end());
  joinPieces(pieces);
  llvm::append_range(pieces, ranges);
}

ArrayAttr Folder::fold(SmallVector<Piece> pieces) const {
  // Most lists are of one piece, and most pieces are a part of a tensor, which
  // nothing becomes one with, or of one of several tensors.
  if (pieces.size() == 1)
    if (const Entry entry = entryOf(pieces.front());
        entry.ranges || standsAlone(pieces.front()))
      return ArrayAttr::get(
          TensorOp(table[0]).getContext(),
          toId(entry, pieces.front().layer, pieces.front().layer));
  join(pieces);
  std::sort(pieces.begin(), pieces.end(), [&](const Piece &a, const Piece &b) {
    auto aPlace = place(a), bPlace = place(b);
    return aPlace != bPlace ? aPlace < bPlace : a < b;
  });
  SmallVector<Attribute> ids;
  Entries run;
  int64_t first = 0, last = 0;
  auto flush = [&] {
    for (const Entry &entry : run)
      ids.push_back(toId(entry, first, last));
  };
  for (ArrayRef<Piece> rest = pieces; !rest.empty();) {
    auto here = place(rest.front());
    ArrayRef<Piece> alike = rest.take_while(
        [&](const Piece &piece) { return place(piece) == here; });
    rest = rest.drop_front(alike.size());
    Entries entries = foldLayer(alike);
    if (here.first == Part::Layer && here.second == last + 1 &&
        entries == run) {
      ++last;
      continue;
    }
    flush();
    run = std::move(entries);
    first = last = here.second;
  }
  flush();
  return ArrayAttr::get(TensorOp(table[0]).getContext(), ids);
}

ArrayAttr etc::foldWorkloads(const TensorTable &table,
                             SmallVector<Piece> pieces,
                             const llvm::SmallBitVector &types) {
  return Folder(table, types).fold(std::move(pieces));
}
