//===- Needs.h - What a device keeps and what it lacks --------------------===//

#ifndef ETC_ANALYSIS_NEEDS_H
#define ETC_ANALYSIS_NEEDS_H

#include "etc/Analysis/Holdings.h"

#include <array>
#include <map>

namespace etc {

/// What a device of one current and one previous role does to get its state, or
/// a part of it.
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
  /// `own` (-1: none): those of what its pool shares, and those of its range.
  /// Nothing where a tensor has no source on the previous side; `getUnsourced`
  /// then names it.
  using Parts = std::array<const Needs *, 2>;
  std::optional<Parts> get(int64_t role, int64_t own);
  llvm::ArrayRef<Fragment> getFragments() const { return fragments; }
  llvm::StringRef getUnsourced() const { return unsourced; }

private:
  /// Tied or not, the numbers of the types, the holders.
  using FragmentKey = std::tuple<bool, llvm::SmallVector<unsigned>,
                                 llvm::SmallVector<Holder, 0>>;
  using FragmentMap = std::map<FragmentKey, llvm::SmallVector<Piece, 0>>;
  bool work(llvm::ArrayRef<Piece> pieces, int64_t own, Needs &needs);
  bool addPiece(const Piece &piece, int64_t own, Needs &needs,
                FragmentMap &missing);
  void addMissing(const Piece &piece, unsigned source, Needs &needs,
                  FragmentMap &missing) const;

  const TensorTable &table;
  const Holdings &prev;
  const Holdings &curr;
  HolderIndex holders;
  /// By current pool and previous role or pool, and by both roles.
  std::map<std::pair<int64_t, int64_t>, Needs> ofPools, ofRanges;
  std::vector<Fragment> fragments;
  std::string unsourced;
};

} // namespace etc

#endif // ETC_ANALYSIS_NEEDS_H
