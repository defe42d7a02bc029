#include "core/pack/Hash.h"

#include "core/pack/HashVectors.h"

#include <cstring>

using namespace etc::runtime;

/// The shares of so many words, of which the first has this key.
using WordHasher = uint64_t (*)(const std::byte *data, uint64_t words,
                                uint64_t key);

static uint64_t hashPlainly(const std::byte *data, uint64_t words,
                            uint64_t key) {
  uint64_t sum = 0;
  for (uint64_t i = 0; i != words; ++i) {
    uint64_t word;
    std::memcpy(&word, data + i * sizeof word, sizeof word);
    sum += hashWord(word, key);
    key += kKeyStep; // keyAt(), without a product
  }
  return sum;
}

#ifdef ETC_HAS_VECTOR_BUILD
/// How far ahead lines are asked for: memory answers sooner than to one stream
/// that is only read when it is needed.
constexpr uint64_t kAhead = 2048;

static void askFor(const std::byte *data) {
  _mm_prefetch(reinterpret_cast<const char *>(data + kAhead), _MM_HINT_T0);
}

// Two sums do not wait for each other.
__attribute__((target("avx2"))) static uint64_t
hashBy32Bytes(const std::byte *data, uint64_t words, uint64_t key) {
  constexpr uint64_t lanes = 4, turn = 4 * lanes;
  const auto first = static_cast<long long>(key);
  const auto one = static_cast<long long>(kKeyStep);
  const __m256i step = _mm256_set1_epi64x(lanes * one);
  __m256i keys = _mm256_add_epi64(_mm256_set1_epi64x(first),
                                  _mm256_set_epi64x(3 * one, 2 * one, one, 0));
  __m256i sums[2] = {_mm256_setzero_si256(), _mm256_setzero_si256()};
  const uint64_t turns = words / turn;
  for (uint64_t i = 0; i != turns; ++i) {
    for (int k = 0; k != 4; ++k) {
      if (k % 2 == 0)
        askFor(data);
      __m256i word =
          _mm256_loadu_si256(reinterpret_cast<const __m256i *>(data));
      __m256i keyed = _mm256_xor_si256(word, keys);
      __m256i product = _mm256_mul_epu32(keyed, _mm256_srli_epi64(keyed, 32));
      __m256i turned = _mm256_shuffle_epi32(word, 0xb1); // halves exchanged
      sums[k % 2] =
          _mm256_add_epi64(sums[k % 2], _mm256_add_epi64(product, turned));
      keys = _mm256_add_epi64(keys, step);
      data += sizeof word;
    }
  }
  uint64_t parts[lanes];
  _mm256_storeu_si256(reinterpret_cast<__m256i *>(parts),
                      _mm256_add_epi64(sums[0], sums[1]));
  return parts[0] + parts[1] + parts[2] + parts[3] +
         hashPlainly(data, words % turn, key + turns * turn * kKeyStep);
}

// The same with registers twice as wide, which is twice as fast in the cache.
__attribute__((target("avx512f"))) static uint64_t
hashBy64Bytes(const std::byte *data, uint64_t words, uint64_t key) {
  constexpr uint64_t lanes = 8, turn = 4 * lanes;
  Words64 keys = keysFrom(key), sums[2] = {};
  const uint64_t turns = words / turn;
  for (uint64_t i = 0; i != turns; ++i) {
    for (int k = 0; k != 4; ++k) {
      askFor(data);
      Words64 word;
      std::memcpy(&word, data, sizeof word);
      sums[k % 2] += hashWords64(word, keys);
      keys += lanes * kKeyStep;
      data += sizeof word;
    }
  }
  return sumOf(sums[0] + sums[1]) +
         hashPlainly(data, words % turn, key + turns * turn * kKeyStep);
}
#endif

static WordHasher chooseHasher() {
#ifdef ETC_HAS_VECTOR_BUILD
  if (__builtin_cpu_supports("avx512f"))
    return hashBy64Bytes;
  if (__builtin_cpu_supports("avx2"))
    return hashBy32Bytes;
#endif
  return hashPlainly;
}

uint64_t etc::runtime::hashBytes(const std::byte *data, uint64_t bytes,
                                 uint64_t position) {
  static const WordHasher hashWords = chooseHasher();
  const uint64_t units = bytes / kHashUnit, whole = units * kHashUnit;
  uint64_t sum = hashWords(data, units * 2, keyAt(position));
  if (whole != bytes) {
    uint64_t words[2]{};
    std::memcpy(words, data + whole, bytes - whole);
    sum += hashUnit(words[0], words[1], position + whole);
  }
  return sum;
}
