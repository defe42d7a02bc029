// The hash of 64 bytes at a time, for x86 processors with AVX-512.

#ifndef ETC_RUNTIME_CORE_PACK_HASHVECTORS_H
#define ETC_RUNTIME_CORE_PACK_HASHVECTORS_H

#include "core/pack/Hash.h"

namespace etc::runtime {

/// From one word's key to the next one's.
constexpr uint64_t kKeyStep = sizeof(uint64_t) * kPositionKey;

} // namespace etc::runtime

#if defined(__x86_64__) && defined(__GNUC__)
#define ETC_HAS_VECTOR_BUILD 1
#include <immintrin.h>

namespace etc::runtime {

using Words64 = uint64_t __attribute__((vector_size(64)));

__attribute__((target("avx512f"), always_inline)) inline Words64
keysFrom(uint64_t key) {
  Words64 keys;
  for (uint64_t lane = 0; lane != 8; ++lane)
    keys[lane] = key + lane * kKeyStep;
  return keys;
}

/// Eight times hashWord(). Compilers do not see that the product has 32-bit
/// factors, and make three of it. The unmasked form of the product is one that
/// GCC 12 warns of.
__attribute__((target("avx512f"), always_inline)) inline Words64
hashWords64(Words64 word, Words64 keys) {
  const Words64 keyed = word ^ keys;
  return (Words64)_mm512_maskz_mul_epu32(0xff, (__m512i)keyed,
                                         (__m512i)(keyed >> 32)) +
         (word << 32 | word >> 32);
}

__attribute__((target("avx512f"), always_inline)) inline uint64_t
sumOf(Words64 sums) {
  uint64_t sum = 0;
  for (uint64_t lane = 0; lane != 8; ++lane)
    sum += sums[lane];
  return sum;
}

} // namespace etc::runtime
#endif

#endif // ETC_RUNTIME_CORE_PACK_HASHVECTORS_H
