//===- Needs.h - What a device keeps and what it lacks --------------------===//

#ifndef ETC_LIB_TRANSFORMS_NEEDS_H
#define ETC_LIB_TRANSFORMS_NEEDS_H

#include "Holdings.h"

#include <map>

namespace etc {

/// Pieces that a device lacks and that the same previous roles hold: what it
/// can get from one source.
struct Fragment {
  llvm::SmallVector<Piece, 0> pieces;
  /// The types that move, of all the pieces.
  llvm::SmallBitVector types;
  /// The pieces are tied copies, to be read from their twins.
  bool tied;
  /// Previous roles, ascending, each of which holds all of the pieces.
  llvm::SmallVector<int64_t, 0> holders;
  int64_t bytes; ///< in the types that move
};

/// What a device of one current and one previous role does to get its state.
struct Needs {
  llvm::SmallVector<Piece, 0> kept;
  llvm::SmallVector<Piece, 0> keptTied;
  llvm::SmallVector<Piece, 0> zeroed;
  /// What neither is kept nor is new, whole; it is moved in fragments.
  llvm::SmallVector<Piece, 0> lacking;
  /// Numbers of fragments.
  llvm::SmallVector<unsigned, 0> missing;
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
  /// One part of a previous tensor, and all roles that hold just this.
  struct Holder {
    Piece piece;
    llvm::SmallVector<int64_t, 0> roles;
  };
  using TensorKey = std::tuple<unsigned, int64_t, int64_t>;
  static TensorKey keyOf(unsigned tensor, const Piece &piece) {
    return {tensor, piece.layer, piece.expert};
  }
  /// Tied or not, the numbers of the types, the holders.
  using FragmentKey = std::tuple<bool, llvm::SmallVector<unsigned>,
                                 llvm::SmallVector<int64_t, 0>>;
  using FragmentMap = std::map<FragmentKey, llvm::SmallVector<Piece, 0>>;
  bool addPiece(const Piece &piece, int64_t own, Needs &needs,
                FragmentMap &missing);
  void addMissing(const Piece &piece, unsigned source, Needs &needs,
                  FragmentMap &missing) const;

  const TensorTable &table;
  const Holdings &prev;
  const Holdings &curr;
  /// Who holds what of a previous tensor.
  std::map<TensorKey, llvm::SmallVector<Holder, 0>> holders;
  std::map<std::pair<int64_t, int64_t>, Needs> needs;
  std::vector<Fragment> fragments;
  std::string unsourced;
};

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_NEEDS_H
