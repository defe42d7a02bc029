#include "core/plan/TensorSize.h"

#include <limits>

using namespace etc::plan;

unsigned etc::plan::elementBytes(fb::DType dtype) {
  switch (dtype) {
  case fb::DType::bf16:
  case fb::DType::fp16:
    return 2;
  case fb::DType::fp32:
    return 4;
  case fb::DType::fp64:
  case fb::DType::i64:
    return 8;
  case fb::DType::u8:
    return 1;
  }
  return 0;
}

uint64_t etc::plan::addBytes(uint64_t a, uint64_t b) {
  uint64_t sum;
  return __builtin_add_overflow(a, b, &sum)
             ? std::numeric_limits<uint64_t>::max()
             : sum;
}

uint64_t etc::plan::mulBytes(uint64_t a, uint64_t b) {
  uint64_t product;
  return __builtin_mul_overflow(a, b, &product)
             ? std::numeric_limits<uint64_t>::max()
             : product;
}
