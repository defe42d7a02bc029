#include "engine/Formula.h"

#include "pack/Copy.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <bit>
#include <cstring>

using namespace etc::runtime;
using etc::plan::fb::DType;

/// 64 well-mixed bits (the finalizer of SplitMix64).
static uint64_t mix(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

// The top bits of `bits` as a multiple of one unit in the last place below 1:
// exact, and in [-1, 1).
static double toDouble(uint64_t bits) {
  return static_cast<double>(static_cast<int64_t>(bits) >> 10) * 0x1p-53;
}
static float toFloat(uint64_t bits) {
  return static_cast<float>(static_cast<int64_t>(bits) >> 39) * 0x1p-24f;
}
static uint16_t toBf16(uint64_t bits) {
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(toFloat(bits)) >> 16);
}
static uint16_t toFp16(uint64_t bits) {
  return castToFp16(static_cast<float>(static_cast<int64_t>(bits) >> 53) *
                    0x1p-10f);
}

Formula::Formula(const PlanIndex &index, uint32_t tensor)
    : dtype(index.tensor(tensor).dtype()), isDerived(false) {
  uint32_t origin = index.primary(tensor);
  if (int32_t source = index.tensor(origin).derived_from(); source >= 0) {
    isDerived = true;
    origin = index.primary(static_cast<uint32_t>(source));
  }
  std::string name = index.describeTensor(origin);
  key = XXH3_64bits(name.data(), name.size());
}

void Formula::generate(uint64_t first, uint64_t count, std::byte *out) const {
  auto write = [&](auto convert) {
    for (uint64_t i = 0; i != count; ++i) {
      auto value = convert(mix(key + (first + i) * 0x9e3779b97f4a7c15));
      std::memcpy(out + i * sizeof value, &value, sizeof value);
    }
  };
  switch (dtype) {
  case DType::bf16:
    return isDerived
               ? write([](uint64_t bits) { return castToBf16(toFloat(bits)); })
               : write(toBf16);
  case DType::fp16:
    return isDerived
               ? write([](uint64_t bits) { return castToFp16(toFloat(bits)); })
               : write(toFp16);
  case DType::fp32:
    return write(toFloat);
  case DType::fp64:
    return write(toDouble);
  case DType::i64:
    return write([](uint64_t bits) { return bits; });
  case DType::u8:
    return write(
        [](uint64_t bits) { return static_cast<uint8_t>(bits >> 56); });
  }
}
