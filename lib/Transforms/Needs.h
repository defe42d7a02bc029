//===- Needs.h - What a device keeps and what it lacks --------------------===//

#ifndef ETC_LIB_TRANSFORMS_NEEDS_H
#define ETC_LIB_TRANSFORMS_NEEDS_H

#include "Holdings.h"

#include <map>

namespace etc {

/// Pieces that a device lacks and that the same previous roles hold: what it
/// can get from one source.
struct Fragment {
  llvm::SmallVector<Piece> pieces;
  /// The pieces are tied copies, to be read from their twins.
  bool tied;
  /// Previous roles, ascending, each of which holds all of the pieces.
  llvm::SmallVector<int64_t> holders;
  int64_t bytes; ///< in the types that move
};

/// What a device of one current and one previous role does to get its state.
struct Needs {
  llvm::SmallVector<Piece> kept;
  llvm::SmallVector<Piece> keptTied;
  llvm::SmallVector<Piece> zeroed;
  /// What neither is kept nor is new, whole; it is moved in fragments.
  llvm::SmallVector<Piece> lacking;
  /// Numbers of fragments.
  llvm::SmallVector<unsigned> missing;
};

/// The needs of every pair of roles that is asked for, each worked out once.
class NeedsTable {
public:
  NeedsTable(const TensorTable &table, const Holdings &prev,
             const Holdings &curr);

  /// The needs of a device that takes current role `role` and had previous role
  /// `own` (-1: none). Null where a tensor has no source on the previous side;
  /// `getUnsourced` then names it.
  const Needs *get(int64_t role, int64_t own);
  llvm::ArrayRef<Fragment> getFragments() const { return fragments; }
  llvm::StringRef getUnsourced() const { return unsourced; }

private:
  struct Holder {
    int64_t role, begin, end;
  };
  using FragmentKey = std::pair<bool, llvm::SmallVector<int64_t>>;
  using FragmentMap = std::map<FragmentKey, llvm::SmallVector<Piece>>;
  bool addPiece(const Piece &piece, int64_t own, Needs &needs,
                FragmentMap &missing);
  void addMissing(Piece piece, unsigned source, Needs &needs,
                  FragmentMap &missing) const;

  const TensorTable &table;
  const Holdings &prev;
  const Holdings &curr;
  /// Who holds what of a previous tensor of a layer.
  std::map<std::pair<unsigned, int64_t>, llvm::SmallVector<Holder>> holders;
  std::map<std::pair<int64_t, int64_t>, Needs> needs;
  llvm::SmallVector<Fragment> fragments;
  std::string unsourced;
};

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_NEEDS_H
