#include "core/pack/HostCast.h"

#include "core/pack/Cast.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__) && defined(__GNUC__)
#define ETC_HAS_VECTOR_BUILD 1
#include <immintrin.h>
#endif

using namespace etc::runtime;

/// A plain loop without aliases, for the vectorizer.
template <uint16_t (*castBits)(uint32_t)>
static void castPlainly(std::byte *__restrict to,
                        const std::byte *__restrict from, uint64_t count) {
  for (uint64_t i = 0; i != count; ++i) {
    uint32_t bits;
    std::memcpy(&bits, from + i * sizeof bits, sizeof bits);
    uint16_t result = castBits(bits);
    std::memcpy(to + i * sizeof result, &result, sizeof result);
  }
}

#ifdef ETC_HAS_VECTOR_BUILD
/// castBitsToBf16() of eight numbers; the upper halves of the result are zero.
__attribute__((target("avx2"))) static __m256i castEight(__m256i bits) {
  const __m256i upper = _mm256_srli_epi32(bits, 16);
  const __m256i isOdd = _mm256_and_si256(upper, _mm256_set1_epi32(1));
  const __m256i rounded = _mm256_srli_epi32(
      _mm256_add_epi32(bits,
                       _mm256_add_epi32(isOdd, _mm256_set1_epi32(0x7fff))),
      16);
  const __m256i quiet = _mm256_or_si256(upper, _mm256_set1_epi32(0x40));
  const __m256i isNan =
      _mm256_cmpgt_epi32(_mm256_and_si256(bits, _mm256_set1_epi32(0x7fffffff)),
                         _mm256_set1_epi32(0x7f800000));
  return _mm256_blendv_epi8(rounded, quiet, isNan);
}

/// Writes past the cache, and asks for what it reads in good time: see
/// StreamingCopy. Returns how many numbers are done.
__attribute__((target("avx2"))) static uint64_t
castByVectors(std::byte *to, const std::byte *from, uint64_t count) {
  constexpr uint64_t turn = 16, ahead = 2048;
  const auto unaligned = reinterpret_cast<uint64_t>(to) % sizeof(__m256i);
  const uint64_t head =
      std::min((sizeof(__m256i) - unaligned) % sizeof(__m256i) / 2, count);
  if (unaligned % 2 != 0)
    return 0;
  castPlainly<castBitsToBf16>(to, from, head);
  uint64_t done = head;
  for (; done + turn <= count; done += turn) {
    const std::byte *source = from + done * sizeof(float);
    const auto *words = reinterpret_cast<const __m256i *>(source);
    _mm_prefetch(reinterpret_cast<const char *>(source + ahead), _MM_HINT_T0);
    __m256i low = castEight(_mm256_loadu_si256(words));
    __m256i high = castEight(_mm256_loadu_si256(words + 1));
    // Packing interleaves the halves of its two arguments.
    __m256i packed =
        _mm256_permute4x64_epi64(_mm256_packus_epi32(low, high), 0xd8);
    _mm256_stream_si256(
        reinterpret_cast<__m256i *>(to + done * sizeof(uint16_t)), packed);
  }
  _mm_sfence();
  return done;
}
#endif

void etc::runtime::castRunToBf16(std::byte *to, const std::byte *from,
                                 uint64_t count) {
  uint64_t done = 0;
#ifdef ETC_HAS_VECTOR_BUILD
  if (__builtin_cpu_supports("avx2"))
    done = castByVectors(to, from, count);
#endif
  castPlainly<castBitsToBf16>(to + done * sizeof(uint16_t),
                              from + done * sizeof(float), count - done);
}

void etc::runtime::castRunToFp16(std::byte *to, const std::byte *from,
                                 uint64_t count) {
  castPlainly<castBitsToFp16>(to, from, count);
}
