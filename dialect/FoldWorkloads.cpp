//===- FoldWorkloads.cpp - Pieces to the coarsest ids ---------------------===//
//
// Layer by layer: every piece becomes the id of one tensor; ids that together
// are a slice of all tensors, or all tensors that are not sliced, become one;
// what lacks nothing becomes the layer. Neighbouring layers that read alike
// become a range.
//
//===----------------------------------------------------------------------===//

#include "dialect/Workloads.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"

using namespace etc;
using namespace mlir;

namespace {
/// An id without its layers. A `tensor` of -1 stands for every tensor of the
/// block.
struct Entry {
  Part part;
  bool replicated = false;
  int64_t sliceBegin = 0, sliceEnd = 0;
  int tensor = -1;
  int64_t begin = 0, end = 0;

  bool operator==(const Entry &) const = default;
  bool isGroup() const { return tensor < 0; }
};

class Folder {
public:
  explicit Folder(const TensorTable &table) : table(table) {}
  ArrayAttr fold(SmallVector<Piece> pieces);

private:
  std::pair<Part, int64_t> place(const Piece &piece) const {
    return {table.getPart(piece.tensor), piece.layer};
  }
  TensorOp tensorOf(unsigned tensor) const { return table[tensor]; }
  Entry entryOf(const Piece &piece) const;
  SmallVector<Entry> foldLayer(ArrayRef<Piece> pieces) const;
  void takeGroup(SmallVectorImpl<Entry> &entries, Entry group) const;
  bool isWhole(ArrayRef<Entry> entries) const;
  WorkloadAttr toId(const Entry &entry, int64_t first, int64_t last) const;

  const TensorTable &table;
};
} // namespace

WorkloadAttr Folder::toId(const Entry &entry, int64_t first,
                          int64_t last) const {
  MLIRContext *context = tensorOf(0).getContext();
  StringAttr name;
  if (!entry.isGroup())
    name = table.getShortName(entry.tensor);
  return WorkloadAttr::get(context, entry.part, first, last, entry.replicated,
                           entry.sliceBegin, entry.sliceEnd, name, entry.begin,
                           entry.end);
}

/// The id of a piece that stands alone.
Entry Folder::entryOf(const Piece &piece) const {
  TensorOp op = tensorOf(piece.tensor);
  Entry entry{op.getPart()};
  entry.tensor = piece.tensor;
  int64_t slice = table.getSlicePositions(piece.tensor);
  bool whole = piece.begin == 0 &&
               piece.end == table.getExtent(piece.tensor, Side::Curr) &&
               !op.getPrevShape();
  if (whole && (!op.getSplit() || table.getSliceCount() == 1))
    return entry;
  if (slice && piece.begin % slice == 0 && piece.end % slice == 0) {
    entry.sliceBegin = piece.begin / slice;
    entry.sliceEnd = piece.end / slice;
    return entry;
  }
  entry.begin = piece.begin;
  entry.end = piece.end;
  return entry;
}

/// Replaces the entries of single tensors that together are `group` by `group`.
void Folder::takeGroup(SmallVectorImpl<Entry> &entries, Entry group) const {
  auto belongs = [&](unsigned tensor) {
    return table.getPart(tensor) == group.part &&
           table.isSplit(tensor) != group.replicated;
  };
  auto matches = [&](const Entry &entry) {
    return !entry.isGroup() && belongs(entry.tensor) &&
           entry.begin == entry.end && entry.sliceBegin == group.sliceBegin &&
           entry.sliceEnd == group.sliceEnd;
  };
  auto wanted =
      llvm::count_if(llvm::seq<unsigned>(table.getTensors().size()), belongs);
  if (wanted == 0 || wanted != llvm::count_if(entries, matches))
    return;
  auto first = llvm::find_if(entries, matches);
  *first = group;
  // One slice may be all of what is cut, but an id without a suffix means what
  // is not cut, too.
  if (!group.replicated && group.sliceEnd == 0)
    first->sliceEnd = table.getSliceCount();
  entries.erase(std::remove_if(first + 1, entries.end(), matches),
                entries.end());
}

/// Nothing of the block is missing: every slice, and every tensor that is not
/// sliced.
bool Folder::isWhole(ArrayRef<Entry> entries) const {
  bool split = false, replicated = false;
  for (const Entry &entry : entries) {
    bool all = entry.sliceBegin == 0 &&
               (entry.sliceEnd == 0 || entry.sliceEnd == table.getSliceCount());
    if (!entry.isGroup() || !all)
      return false;
    (entry.replicated ? replicated : split) = true;
  }
  return llvm::all_of(llvm::seq<unsigned>(table.getTensors().size()),
                      [&](unsigned tensor) {
                        return table.getPart(tensor) != entries.front().part ||
                               (table.isSplit(tensor) ? split : replicated);
                      });
}

/// The ids of one layer (or other block), without the layer.
SmallVector<Entry> Folder::foldLayer(ArrayRef<Piece> pieces) const {
  SmallVector<Entry> entries;
  SmallVector<Entry> groups;
  for (const Piece &piece : pieces) {
    Entry entry = entries.emplace_back(entryOf(piece));
    bool split = table.isSplit(piece.tensor);
    Entry group{entry.part, !split, entry.sliceBegin, entry.sliceEnd};
    if (!llvm::is_contained(groups, group))
      groups.push_back(group);
  }
  for (const Entry &group : groups)
    takeGroup(entries, group);
  return isWhole(entries) ? SmallVector<Entry>{Entry{entries.front().part}}
                          : entries;
}

/// Joins neighbouring intervals of the same tensor.
static void joinPieces(SmallVectorImpl<Piece> &pieces) {
  llvm::sort(pieces);
  size_t kept = 0;
  for (const Piece &piece : pieces) {
    Piece *last = kept ? &pieces[kept - 1] : nullptr;
    if (last && last->tensor == piece.tensor && last->layer == piece.layer &&
        last->end == piece.begin)
      last->end = piece.end;
    else
      pieces[kept++] = piece;
  }
  pieces.truncate(kept);
}

ArrayAttr Folder::fold(SmallVector<Piece> pieces) {
  joinPieces(pieces);
  llvm::stable_sort(pieces, [&](const Piece &a, const Piece &b) {
    return place(a) < place(b);
  });
  SmallVector<Attribute> ids;
  SmallVector<Entry> run;
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
    SmallVector<Entry> entries = foldLayer(alike);
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
  return ArrayAttr::get(tensorOf(0).getContext(), ids);
}

ArrayAttr etc::foldWorkloads(const TensorTable &table,
                             SmallVector<Piece> pieces) {
  return Folder(table).fold(std::move(pieces));
}
