#include "core/pack/HashedRows.h"

#include "core/pack/HashVectors.h"
#include "core/pack/HostCopy.h"

#include <algorithm>
#include <cstring>

using namespace etc::runtime;

/// How far ahead lines are asked for: as many rows as take so much of the
/// source. With less, memory that others use too answers too late.
constexpr uint64_t kAhead = 8192;
constexpr uint64_t kVector = 64;
/// Shorter rows are not worth a call each.
constexpr uint64_t kLongRow = 512;

static uint64_t aheadOf(const Rows &rows) {
  return rows.count == 1 || rows.fromStride > kAhead
             ? kAhead
             : (kAhead + rows.fromStride - 1) / rows.fromStride *
                   rows.fromStride;
}

/// What was written is read again in the first cache.
static uint64_t copyPlainly(const Rows &rows, uint64_t position) {
  constexpr uint64_t block = 8192;
  const uint64_t ahead = aheadOf(rows);
  uint64_t sum = 0;
  for (uint64_t row = 0; row != rows.count; ++row) {
    std::byte *to = rows.to + row * rows.toStride;
    const std::byte *from = rows.from + row * rows.fromStride;
    for (uint64_t at = 0; at != rows.bytes;) {
      const uint64_t now = std::min(block, rows.bytes - at);
      copyAhead(to + at, from + at, now, ahead);
      sum += hashBytes(to + at, now, position);
      at += now, position += now;
    }
  }
  return sum;
}

#ifdef ETC_HAS_VECTOR_BUILD
/// Past the cache, or into it: then lines are asked for ahead.
template <bool isPastCache>
__attribute__((target("avx512f"))) static uint64_t
copyBy64Bytes(const Rows &rows, uint64_t position) {
  const uint64_t ahead = aheadOf(rows);
  Words64 keys = keysFrom(keyAt(position)), sums{};
  std::byte *to = rows.to;
  const std::byte *from = rows.from;
  for (uint64_t row = 0; row != rows.count; ++row) {
    for (uint64_t at = 0; at != rows.bytes; at += kVector) {
      Words64 word;
      std::memcpy(&word, from + at, sizeof word);
      if constexpr (isPastCache) {
        _mm512_stream_si512(reinterpret_cast<__m512i *>(to + at),
                            (__m512i)word);
      } else {
        _mm_prefetch(reinterpret_cast<const char *>(from + at + ahead),
                     _MM_HINT_T0);
        std::memcpy(to + at, &word, sizeof word);
      }
      sums += hashWords64(word, keys);
      keys += kVector / sizeof(uint64_t) * kKeyStep;
    }
    to += rows.toStride, from += rows.fromStride;
  }
  if (isPastCache)
    _mm_sfence(); // whoever is told of the copy after this sees it
  return sumOf(sums);
}
#endif

static bool hasVectors() {
#ifdef ETC_HAS_VECTOR_BUILD
  static const bool has = __builtin_cpu_supports("avx512f");
  return has;
#else
  return false;
#endif
}

bool etc::runtime::suitHashing(uint64_t rowBytes) {
  return (rowBytes % kVector == 0 && hasVectors()) ||
         (rowBytes % kHashUnit == 0 && rowBytes >= kLongRow);
}

uint64_t etc::runtime::copyHashed(const Rows &rows, uint64_t position) {
#ifdef ETC_HAS_VECTOR_BUILD
  if (rows.bytes % kVector == 0 && hasVectors())
    return copyBy64Bytes<false>(rows, position);
#endif
  return copyPlainly(rows, position);
}

bool etc::runtime::suitStreaming(const Move &move) {
  uint64_t bits = move.to | move.runBytes;
  for (uint32_t axis = 0; axis != move.axes; ++axis)
    bits |= move.toStride[axis];
  return bits % kVector == 0 && hasVectors();
}

uint64_t etc::runtime::streamHashed(const Rows &rows, uint64_t position) {
#ifdef ETC_HAS_VECTOR_BUILD
  return copyBy64Bytes<true>(rows, position);
#else
  return copyPlainly(rows, position);
#endif
}
