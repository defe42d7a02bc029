//===- Fragments.h - What a device can get from one source ------*- C++ -*-===//

#ifndef ETC_ANALYSIS_FRAGMENTS_H
#define ETC_ANALYSIS_FRAGMENTS_H

#include "etc/Analysis/Needs.h"
#include "etc/Optimize/Sources/Fleet.h"

namespace etc {

/// The fragments of all needs that are asked for, each worked out once.
class FragmentTable {
public:
  /// Of tables that outlive it.
  FragmentTable(const TensorTable &table, const Holdings &prev,
                const Fleet &fleet)
      : table(table), prev(prev), fleet(fleet), holders(prev) {}

  /// Of what a device of a node lacks, by types and holders: the same list for
  /// all nodes on which it is the same.
  llvm::ArrayRef<Fragment> get(const Needs &needs, int64_t node);

private:
  /// The twin that is read, if any; the numbers of the types; the holders.
  using Key = std::tuple<std::optional<unsigned>, llvm::SmallVector<unsigned>,
                         llvm::SmallVector<Holder, 0>>;
  using PiecesByKey = std::map<Key, llvm::SmallVector<Piece, 0>>;
  /// The entry of the piece before, which is mostly that of the next one, too.
  struct Last {
    unsigned tensor = 0;
    PiecesByKey::value_type *entry = nullptr;
  };
  /// A part of a piece that has twins, and who reads which tensor for it.
  struct TiedPart {
    Piece piece;
    llvm::SmallVector<std::pair<unsigned, llvm::SmallVector<Holder, 0>>, 2>
        ofTensors;
  };
  using TiedParts = llvm::SmallVector<TiedPart, 0>;
  bool isOn(int64_t node, llvm::ArrayRef<Holder> holders) const;
  void cutTied(const Piece &piece, llvm::ArrayRef<unsigned> sources,
               TiedParts &parts) const;
  const TiedParts &getTied(const Needs &needs);
  unsigned choose(const TiedPart &part, int64_t node) const;
  void addPart(unsigned source, const Piece &piece,
               llvm::SmallVector<Holder, 0> holders, PiecesByKey &byKey,
               Last &last) const;

  const TensorTable &table;
  const Holdings &prev;
  const Fleet &fleet;
  const HolderIndex holders;
  std::map<const Needs *, TiedParts> tied;
  /// By needs, and by what is chosen of tied parts.
  std::map<std::pair<const Needs *, llvm::SmallVector<unsigned, 0>>,
           std::vector<Fragment>>
      ofNeeds;
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
