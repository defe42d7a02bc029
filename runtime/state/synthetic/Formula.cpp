#include "state/synthetic/Formula.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>

using namespace etc::runtime;
using etc::plan::fb::DType;

static ValueKind kindOf(DType dtype, bool isDerived) {
  switch (dtype) {
  case DType::bf16:
    return isDerived ? ValueKind::DerivedBf16 : ValueKind::Bf16;
  case DType::fp16:
    return isDerived ? ValueKind::DerivedFp16 : ValueKind::Fp16;
  case DType::fp32:
    return ValueKind::Fp32;
  case DType::fp64:
    return ValueKind::Fp64;
  case DType::i64:
    return ValueKind::I64;
  case DType::u8:
    return ValueKind::U8;
  }
  return ValueKind::U8;
}

Formula::Formula(const PlanIndex &index, uint32_t tensor) {
  uint32_t origin = index.primary(tensor);
  const int32_t source = index.tensor(origin).derived_from();
  if (source >= 0)
    origin = index.primary(static_cast<uint32_t>(source));
  kind_ = kindOf(index.tensor(tensor).dtype(), source >= 0);
  std::string name = index.describeTensor(origin);
  key_ = XXH3_64bits(name.data(), name.size());
}

/// The loop of one kind, which the compiler sees as a constant.
template <ValueKind kind, typename Element>
static void write(uint64_t key, uint64_t first, uint64_t count,
                  std::byte *out) {
  for (uint64_t i = 0; i != count; ++i) {
    auto value = static_cast<Element>(valueBits(kind, key, first + i));
    std::memcpy(out + i * sizeof value, &value, sizeof value);
  }
}

void Formula::generate(uint64_t first, uint64_t count, std::byte *out) const {
  switch (kind_) {
  case ValueKind::Bf16:
    return write<ValueKind::Bf16, uint16_t>(key_, first, count, out);
  case ValueKind::Fp16:
    return write<ValueKind::Fp16, uint16_t>(key_, first, count, out);
  case ValueKind::Fp32:
    return write<ValueKind::Fp32, uint32_t>(key_, first, count, out);
  case ValueKind::Fp64:
    return write<ValueKind::Fp64, uint64_t>(key_, first, count, out);
  case ValueKind::I64:
    return write<ValueKind::I64, uint64_t>(key_, first, count, out);
  case ValueKind::U8:
    return write<ValueKind::U8, uint8_t>(key_, first, count, out);
  case ValueKind::DerivedBf16:
    return write<ValueKind::DerivedBf16, uint16_t>(key_, first, count, out);
  case ValueKind::DerivedFp16:
    return write<ValueKind::DerivedFp16, uint16_t>(key_, first, count, out);
  }
}
