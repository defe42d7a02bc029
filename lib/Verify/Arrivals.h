//===- Arrivals.h - What was written of a tensor, and when ------*- C++ -*-===//

#ifndef ETC_LIB_VERIFY_ARRIVALS_H
#define ETC_LIB_VERIFY_ARRIVALS_H

#include "Replay.h"
#include "etc/BoxSearch.h"

namespace etc {

/// Accesses that write one tensor in one type, which outlive this.
class Arrivals {
public:
  explicit Arrivals(llvm::ArrayRef<Access> writes);

  /// How many elements of a piece are written before a round, each as often as
  /// it is.
  int64_t count(const Piece &piece, int64_t round) const;
  /// One that writes what one before it, in some order, does, too; or null.
  const Access *findRepeated() const;

private:
  const Access &get(size_t place) const {
    return search ? *sorted[place] : writes[place];
  }
  /// Places [first, last) outside of which none writes any of a piece.
  std::pair<size_t, size_t> find(const Piece &piece) const {
    return search ? search->find(piece) : std::pair(size_t(0), writes.size());
  }

  const llvm::ArrayRef<Access> writes;
  llvm::SmallVector<const Access *, 0> sorted; ///< along some axis, where many
  std::optional<BoxSearch> search;             ///< of these
};

} // namespace etc

#endif // ETC_LIB_VERIFY_ARRIVALS_H
