//===- Demands.h - Who lacks what -----------------------------------------===//

#ifndef ETC_OPTIMIZE_SOURCES_DEMANDS_H
#define ETC_OPTIMIZE_SOURCES_DEMANDS_H

#include "etc/Optimize/Sources/Fragment.h"

#include <deque>
#include <set>

namespace etc {

/// Tensors, each of one layer and expert.
using TensorKey = std::tuple<unsigned, int64_t, int64_t>;
using TensorSet = std::set<TensorKey>;
inline TensorKey tensorOf(const Piece &piece) {
  return {piece.tensor, piece.layer, piece.expert};
}

/// A fragment and the devices that lack it, ascending.
struct Demand {
  const Fragment *fragment;
  llvm::SmallVector<int64_t> destinations;
};

/// A fragment cut behind so many bytes each time, ascending, or behind the
/// whole position of an axis that is nearest; parts may be empty.
std::vector<Fragment> cutFragment(const Fragment &fragment,
                                  llvm::ArrayRef<int64_t> cuts);

/// A fragment in stripes: pieces that follow each other are a window as soon as
/// they have `window` bytes, and each window is cut behind the same shares of
/// `whole`, ascending, or at the end of a piece that is near. A part has its
/// stripe of every window, so that all parts progress alike. Parts may be
/// empty.
std::vector<Fragment> divideFragment(const Fragment &fragment,
                                     llvm::ArrayRef<int64_t> shares,
                                     int64_t whole, int64_t window);

/// All demands of a migration, by number: in the order in which programs list
/// them.
class Demands {
public:
  Demands() = default;
  /// Not copied: demands refer to fragments of its own.
  Demands(Demands &&) = default;
  Demands &operator=(Demands &&) = default;

  /// Of a fragment that outlives it.
  void add(const Fragment &fragment, llvm::ArrayRef<int64_t> destinations) {
    list.push_back({&fragment, llvm::to_vector(destinations)});
  }
  /// Of a fragment that becomes its own.
  void addOwn(Fragment fragment, llvm::ArrayRef<int64_t> destinations) {
    add(own.emplace_back(std::move(fragment)), destinations);
  }

  size_t size() const { return list.size(); }
  const Demand &operator[](size_t number) const { return list[number]; }
  /// Their numbers, those first that leave the least choice of a source: what
  /// many hold can then come along. `hasRanges`: pools are several roles.
  llvm::SmallVector<unsigned> inOrder(bool hasRanges) const;

  /// The same numbers: demands for the same pieces, one after the other.
  llvm::SmallVector<llvm::SmallVector<unsigned>>
  groupAlike(bool hasRanges) const;

  /// The same demands, of fragments cut into what the same devices lack:
  /// tensors that tensor-parallel ranks hold alike are then no part of their
  /// slices any more, and are sent on between them. Tensors of `apart` are in
  /// fragments with no others.
  Demands splitByTakers(const TensorSet &apart = {}) const;

private:
  /// The parts of one that is in `from`.
  void addParts(const Demand &from, std::vector<Fragment> parts);

  std::vector<Demand> list;
  std::deque<Fragment> own; ///< those that were made by a split
};

} // namespace etc

#endif // ETC_OPTIMIZE_SOURCES_DEMANDS_H
