// How many axes tensors have, and how many bytes they take.

#ifndef ETC_PLAN_TENSORSIZE_H
#define ETC_PLAN_TENSORSIZE_H

#include "core/plan/plan_generated.h"

#include <cstdint>

namespace etc::plan {

/// Tensors have at most this many axes.
constexpr unsigned kMaxRank = 8;

/// Bytes of one element.
unsigned elementBytes(fb::DType dtype);

/// Sums of bytes saturate, so that no plan can wrap them.
uint64_t addBytes(uint64_t a, uint64_t b);
uint64_t mulBytes(uint64_t a, uint64_t b);

} // namespace etc::plan

#endif // ETC_PLAN_TENSORSIZE_H
