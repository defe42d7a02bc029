//===- Fragments.h - What a device can get from one source ------*- C++ -*-===//

#ifndef ETC_ANALYSIS_FRAGMENTS_H
#define ETC_ANALYSIS_FRAGMENTS_H

#include "etc/Analysis/Needs.h"
#include "etc/Optimize/Sources/Fragment.h"

namespace etc {

/// The fragments of all needs that are asked for, each worked out once.
class FragmentTable {
public:
  /// Of tables that outlive it.
  FragmentTable(const TensorTable &table, const Holdings &prev)
      : table(table), prev(prev), holders(prev) {}

  /// Of what is lacking, by types and holders.
  llvm::ArrayRef<Fragment> get(const Needs &needs);

private:
  /// Tied or not, the numbers of the types, the holders.
  using Key = std::tuple<bool, llvm::SmallVector<unsigned>,
                         llvm::SmallVector<Holder, 0>>;
  using PiecesByKey = std::map<Key, llvm::SmallVector<Piece, 0>>;
  /// The entry of the piece before, which is mostly that of the next one, too.
  struct Last {
    unsigned tensor = 0;
    PiecesByKey::value_type *entry = nullptr;
  };
  void addLacking(const Piece &piece, PiecesByKey &byKey, Last &last) const;

  const TensorTable &table;
  const Holdings &prev;
  const HolderIndex holders;
  std::map<const Needs *, std::vector<Fragment>> ofNeeds;
};

/// The ids of a demand for the fragment: the coarsest that keep its pieces, and
/// the order of those that are of one tensor.
mlir::ArrayAttr foldInOrder(const Fragment &fragment, const TensorTable &table);

/// What a demand says.
Fragment readFragment(DemandOp op, const TensorTable &table);
/// What a fragment is in some of its types; its `types` are empty where it has
/// none of these.
Fragment inTypes(Fragment fragment, const llvm::SmallBitVector &types,
                 const TensorTable &table);

} // namespace etc

#endif // ETC_ANALYSIS_FRAGMENTS_H
