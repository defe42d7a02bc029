// Casts of fp32 numbers to the 16-bit types, on host and GPU alike.

#ifndef ETC_RUNTIME_CORE_PACK_CAST_H
#define ETC_RUNTIME_CORE_PACK_CAST_H

#include "core/pack/HostDevice.h"

#include <cstdint>

namespace etc::runtime {

/// The bits of the nearest bf16 number to the fp32 number of these bits, ties
/// to even. Not a number stays one.
ETC_HOST_DEVICE inline uint16_t castBitsToBf16(uint32_t bits) {
  uint32_t isOdd = bits >> 16 & 1;
  uint32_t rounded = (bits + 0x7fff + isOdd) >> 16;
  uint32_t quiet = bits >> 16 | 0x40;
  return static_cast<uint16_t>((bits & 0x7fffffff) > 0x7f800000 ? quiet
                                                                : rounded);
}

/// `value` / 2^shift, rounded to nearest, ties to even.
ETC_HOST_DEVICE inline uint32_t shiftRounded(uint32_t value, unsigned shift) {
  uint32_t quotient = value >> shift;
  uint32_t rest = value & ((1u << shift) - 1), half = 1u << (shift - 1);
  return quotient + (rest > half || (rest == half && (quotient & 1)));
}

/// The same for fp16.
ETC_HOST_DEVICE inline uint16_t castBitsToFp16(uint32_t bits) {
  uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  constexpr uint32_t infinity = 0x7c00;
  if (magnitude > 0x7f800000)
    return static_cast<uint16_t>(sign | infinity | 0x200);
  if (magnitude >= 0x47800000) // 2^16 and more
    return static_cast<uint16_t>(sign | infinity);
  if (magnitude >= 0x38800000) // 2^-14 and more: a normal number
    return static_cast<uint16_t>(sign |
                                 shiftRounded(magnitude - 0x38000000, 13));
  uint32_t exponent = magnitude >> 23;
  if (exponent < 102) // below half of the smallest subnormal number
    return static_cast<uint16_t>(sign);
  uint32_t mantissa = (magnitude & 0x7fffff) | 0x800000;
  return static_cast<uint16_t>(sign | shiftRounded(mantissa, 126 - exponent));
}

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_PACK_CAST_H
