// Rows of memory that are hashed on their way.

#ifndef ETC_RUNTIME_CORE_PACK_HASHEDROWS_H
#define ETC_RUNTIME_CORE_PACK_HASHEDROWS_H

#include "core/pack/Move.h"

namespace etc::runtime {

/// Rows of one length, at a stride on either side.
struct Rows {
  std::byte *to;
  const std::byte *from;
  uint64_t count, bytes, toStride, fromStride;
};

/// Whether rows of this length are worth it: whole units of the hash, and not
/// so short that a call for each costs more than its bytes do.
bool suitHashing(uint64_t rowBytes);

/// Copies such rows into the cache. Returns the share of their bytes, which
/// stand one after the other in a message, from `position` on. Where registers
/// have 64 bytes and rows are so many times that, a byte is read once for both.
uint64_t copyHashed(const Rows &rows, uint64_t position);

/// Whether rows of a move can be written past the cache by whole registers: all
/// of them begin and end where lines of memory do.
bool suitStreaming(const Move &move);

/// As copyHashed(), of rows that are in the cache, to memory past it. They suit
/// streaming.
uint64_t streamHashed(const Rows &rows, uint64_t position);

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_PACK_HASHEDROWS_H
