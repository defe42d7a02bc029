// The elements of the formula that a state without input is filled by, as bits,
// on host and GPU alike.

#ifndef ETC_RUNTIME_CORE_PACK_VALUES_H
#define ETC_RUNTIME_CORE_PACK_VALUES_H

#include "core/pack/Cast.h"

#include <cstring>

namespace etc::runtime {

/// What the formula's elements are stored as. Derived ones are cast from the
/// fp32 element of the same index.
enum class ValueKind : uint32_t {
  Bf16,
  Fp16,
  Fp32,
  Fp64,
  I64,
  U8,
  DerivedBf16,
  DerivedFp16
};

/// 64 well-mixed bits (the finalizer of SplitMix64).
ETC_HOST_DEVICE inline uint64_t mixBits(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

template <typename To, typename From>
ETC_HOST_DEVICE inline To sameBits(From value) {
  static_assert(sizeof(To) == sizeof(From));
  To bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

// The top bits as a multiple of one unit in the last place below 1: exact, and
// in [-1, 1).
ETC_HOST_DEVICE inline uint64_t fp64Bits(uint64_t mixed) {
  return sameBits<uint64_t>(
      static_cast<double>(static_cast<int64_t>(mixed) >> 10) * 0x1p-53);
}
ETC_HOST_DEVICE inline uint32_t fp32Bits(uint64_t mixed) {
  return sameBits<uint32_t>(
      static_cast<float>(static_cast<int64_t>(mixed) >> 39) * 0x1p-24f);
}
ETC_HOST_DEVICE inline uint16_t fp16Bits(uint64_t mixed) {
  return castBitsToFp16(sameBits<uint32_t>(
      static_cast<float>(static_cast<int64_t>(mixed) >> 53) * 0x1p-10f));
}

/// The element of a row-major index in the tensor that `key` stands for; the
/// low bits hold it.
ETC_HOST_DEVICE inline uint64_t valueBits(ValueKind kind, uint64_t key,
                                          uint64_t index) {
  uint64_t mixed = mixBits(key + index * 0x9e3779b97f4a7c15);
  switch (kind) {
  case ValueKind::Bf16:
    return fp32Bits(mixed) >> 16;
  case ValueKind::Fp16:
    return fp16Bits(mixed);
  case ValueKind::Fp32:
    return fp32Bits(mixed);
  case ValueKind::Fp64:
    return fp64Bits(mixed);
  case ValueKind::I64:
    return mixed;
  case ValueKind::U8:
    return mixed >> 56;
  case ValueKind::DerivedBf16:
    return castBitsToBf16(fp32Bits(mixed));
  case ValueKind::DerivedFp16:
    return castBitsToFp16(fp32Bits(mixed));
  }
  return 0;
}

ETC_HOST_DEVICE inline unsigned valueBytes(ValueKind kind) {
  switch (kind) {
  case ValueKind::Fp32:
    return 4;
  case ValueKind::Fp64:
  case ValueKind::I64:
    return 8;
  case ValueKind::U8:
    return 1;
  default:
    return 2;
  }
}

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_PACK_VALUES_H
