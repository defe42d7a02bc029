// Random tables of moves, in memory of their own.

#ifndef ETC_TEST_KERNELS_RANDOMTABLE_H
#define ETC_TEST_KERNELS_RANDOMTABLE_H

#include "core/pack/Move.h"

#include <random>
#include <vector>

namespace etc::test {

using runtime::Move;
using runtime::MoveKind;

/// Moves of all kinds, shapes and alignments, a megabyte together at most. They
/// read `source`, and write places of `target` that do not overlap.
class RandomTable {
public:
  explicit RandomTable(unsigned seed);

  /// The moves, with targets in this copy of target().
  std::vector<Move> movesTo(std::vector<std::byte> &target) const;
  const std::vector<std::byte> &target() const { return written; }
  size_t sums() const { return sumCount; }

private:
  uint64_t number(uint64_t first, uint64_t last) {
    return std::uniform_int_distribution<uint64_t>(first, last)(random);
  }
  Move shape(MoveKind kind, uint64_t unit);
  void addMove();

  std::mt19937_64 random;
  std::vector<std::byte> source, written;
  std::vector<Move> moves; // `to` counts from the beginning of the target
  uint64_t used = 0;       // of the target
  size_t sumCount;
};

} // namespace etc::test

#endif // ETC_TEST_KERNELS_RANDOMTABLE_H
