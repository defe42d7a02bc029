// Copies of boxes between dense row-major memory: packing, unpacking and
// everything between.

#ifndef ETC_RUNTIME_PACK_COPY_H
#define ETC_RUNTIME_PACK_COPY_H

#include "plan/Box.h"

#include <cstddef>

namespace etc::runtime {

using plan::Box;

/// Memory that holds a box of a tensor, dense and row-major. It owns neither.
struct Region {
  std::byte *data;
  Box box;
};

struct ConstRegion {
  const std::byte *data;
  Box box;
};

/// Copies the elements of `part`, which both regions contain. The regions do
/// not overlap in memory. A region whose box is `part` itself is a packed
/// message, so this gathers and scatters too.
void copyBox(ConstRegion from, Region to, Box part, unsigned elementBytes);

/// Sets the elements of `part` to zero.
void zeroBox(Region to, Box part, unsigned elementBytes);

/// Casts the fp32 elements of `part` to `to`'s type, bf16 or fp16.
void castBox(ConstRegion from, Region to, Box part, plan::fb::DType dtype);

/// The bits of the nearest bf16 or fp16 number, ties to even. Not a number
/// stays one.
uint16_t castToBf16(float value);
uint16_t castToFp16(float value);

} // namespace etc::runtime

#endif // ETC_RUNTIME_PACK_COPY_H
