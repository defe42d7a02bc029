// Copies of boxes between dense row-major memory, as moves: packing, unpacking
// and everything between.

#ifndef ETC_RUNTIME_CORE_PACK_COPY_H
#define ETC_RUNTIME_CORE_PACK_COPY_H

#include "core/pack/Move.h"

#include "core/plan/TensorSize.h"
#include "etc/Geometry.h"

#include <bit>
#include <cstddef>
#include <span>

namespace etc::runtime {

/// Memory that holds a box of a tensor, dense and row-major. It owns neither.
struct Region {
  std::byte *data;
  BoxView box;
};

struct ConstRegion {
  const std::byte *data;
  BoxView box;
};

/// The move of the elements of `part`, which both regions contain. The regions
/// do not overlap in memory. A region whose box is `part` itself is a packed
/// message, so this gathers and scatters too.
Move copyMove(ConstRegion from, Region to, BoxView part, unsigned elementBytes);

/// Reads contiguous bytes for their hash.
Move hashMove(const std::byte *data, uint64_t bytes);

/// Sets the elements of `part` to zero.
Move zeroMove(Region to, BoxView part, unsigned elementBytes);

/// Casts the fp32 elements of `part` to `to`'s type, bf16 or fp16.
Move castMove(ConstRegion from, Region to, BoxView part, plan::fb::DType dtype);

/// Whether `part` is contiguous in the dense memory of `box`.
bool isContiguous(BoxView box, BoxView part);

/// Executes moves on host memory, one after the other. `sums` are added to.
void runMoves(std::span<const Move> moves, std::span<uint64_t> sums);

/// One move of host memory, now.
inline void runMove(const Move &move) { runMoves({&move, 1}, {}); }

inline void copyBox(ConstRegion from, Region to, BoxView part,
                    unsigned elementBytes) {
  runMove(copyMove(from, to, part, elementBytes));
}
inline void zeroBox(Region to, BoxView part, unsigned elementBytes) {
  runMove(zeroMove(to, part, elementBytes));
}
inline void castBox(ConstRegion from, Region to, BoxView part,
                    plan::fb::DType dtype) {
  runMove(castMove(from, to, part, dtype));
}

/// The bits of the nearest bf16 or fp16 number, ties to even.
inline uint16_t castToBf16(float value) {
  return castBitsToBf16(std::bit_cast<uint32_t>(value));
}
inline uint16_t castToFp16(float value) {
  return castBitsToFp16(std::bit_cast<uint32_t>(value));
}

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_PACK_COPY_H
