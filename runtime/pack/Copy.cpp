#include "pack/Copy.h"

#include "pack/Runs.h"

#include <bit>
#include <cmath>
#include <cstring>

using namespace etc::runtime;

void etc::runtime::copyBox(ConstRegion from, Region to, Box part,
                           unsigned elementBytes) {
  forEachRun(from.box, to.box, part,
             [&](uint64_t source, uint64_t target, uint64_t count) {
               std::memcpy(to.data + target * elementBytes,
                           from.data + source * elementBytes,
                           count * elementBytes);
             });
}

void etc::runtime::zeroBox(Region to, Box part, unsigned elementBytes) {
  forEachRun(
      to.box, to.box, part, [&](uint64_t, uint64_t target, uint64_t count) {
        std::memset(to.data + target * elementBytes, 0, count * elementBytes);
      });
}

void etc::runtime::castBox(ConstRegion from, Region to, Box part,
                           plan::fb::DType dtype) {
  auto cast = dtype == plan::fb::DType::bf16 ? castToBf16 : castToFp16;
  forEachRun(from.box, to.box, part,
             [&](uint64_t source, uint64_t target, uint64_t count) {
               for (uint64_t i = 0; i != count; ++i) {
                 float value;
                 std::memcpy(&value, from.data + (source + i) * sizeof value,
                             sizeof value);
                 uint16_t bits = cast(value);
                 std::memcpy(to.data + (target + i) * sizeof bits, &bits,
                             sizeof bits);
               }
             });
}

uint16_t etc::runtime::castToBf16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (std::isnan(value))
    return static_cast<uint16_t>(bits >> 16 | 0x40); // keep it quiet
  uint32_t isOdd = bits >> 16 & 1;
  return static_cast<uint16_t>((bits + 0x7fff + isOdd) >> 16);
}

/// `value` / 2^shift, rounded to nearest, ties to even.
static uint32_t shiftRounded(uint32_t value, unsigned shift) {
  uint32_t quotient = value >> shift;
  uint32_t rest = value & ((1u << shift) - 1), half = 1u << (shift - 1);
  return quotient + (rest > half || (rest == half && (quotient & 1)));
}

uint16_t etc::runtime::castToFp16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
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
