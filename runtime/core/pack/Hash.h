// A 64-bit hash of a message that is a sum over its parts, keyed by their
// positions: any order gives the same, so a GPU's threads and a host agree.

#ifndef ETC_RUNTIME_CORE_PACK_HASH_H
#define ETC_RUNTIME_CORE_PACK_HASH_H

#include "core/pack/HostDevice.h"

#include <cstddef>
#include <cstdint>

namespace etc::runtime {

/// What is hashed at a time: 16 bytes, zeros behind the end.
constexpr uint64_t kHashUnit = 16;
constexpr uint64_t kPositionKey = 0x9e3779b97f4a7c15;

/// A word's share: the product of its keyed halves (one 32-bit multiplier), and
/// the word itself, so that a half of zero hides nothing.
ETC_HOST_DEVICE inline uint64_t hashWord(uint64_t word, uint64_t key) {
  uint64_t keyed = word ^ key;
  return (keyed & 0xffffffff) * (keyed >> 32) + (word << 32 | word >> 32);
}

/// The key of a word that stands at `position` (in bytes) of a message.
ETC_HOST_DEVICE inline uint64_t keyAt(uint64_t position) {
  return (position + 1) * kPositionKey;
}

/// The share of 16 bytes that stand at `position`.
ETC_HOST_DEVICE inline uint64_t hashUnit(uint64_t low, uint64_t high,
                                         uint64_t position) {
  return hashWord(low, keyAt(position)) + hashWord(high, keyAt(position + 8));
}

/// The share of contiguous bytes that stand at `position`.
uint64_t hashBytes(const std::byte *data, uint64_t bytes, uint64_t position);

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_PACK_HASH_H
