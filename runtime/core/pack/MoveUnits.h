// Moves in units of 16 bytes, each of which any thread can do by itself: the
// bodies of the GPU's kernel, which the host can run and test.

#ifndef ETC_RUNTIME_CORE_PACK_MOVEUNITS_H
#define ETC_RUNTIME_CORE_PACK_MOVEUNITS_H

#include "core/pack/Access.h"
#include "core/pack/Hash.h"
#include "core/pack/Move.h"

namespace etc::runtime {

constexpr uint32_t kUnitBytes = 16;
/// What a block of threads does at a time.
constexpr uint32_t kBlockThreads = 256;
constexpr uint32_t kUnitsPerThread = 4;
constexpr uint64_t kTileBytes =
    uint64_t{kUnitBytes} * kBlockThreads * kUnitsPerThread;

ETC_HOST_DEVICE inline uint64_t hashOf(const Move &move, uint64_t offset,
                                       Words words) {
  return move.sum == kNoSum
             ? 0
             : hashUnit(words.low, words.high, move.position + offset);
}

ETC_HOST_DEVICE inline bool isCast(MoveKind kind) {
  return readFactor(kind) == 2;
}

ETC_HOST_DEVICE inline uint16_t castElement(MoveKind kind, uint32_t bits) {
  return kind == MoveKind::CastBf16 ? castBitsToBf16(bits)
                                    : castBitsToFp16(bits);
}

/// Two fp32 numbers, as the low 32 bits.
ETC_HOST_DEVICE inline uint64_t castPair(MoveKind kind, uint64_t pair) {
  const uint32_t second = static_cast<uint32_t>(pair >> 32);
  return castElement(kind, static_cast<uint32_t>(pair)) |
         static_cast<uint32_t>(castElement(kind, second)) << 16;
}

/// Eight fp32 numbers.
ETC_HOST_DEVICE inline Words castUnit(MoveKind kind, Words first,
                                      Words second) {
  return {castPair(kind, first.low) | castPair(kind, first.high) << 32,
          castPair(kind, second.low) | castPair(kind, second.high) << 32};
}

/// Where the units of a thread in a tile are: side by side with those of its
/// neighbours.
constexpr uint64_t kUnitStride = uint64_t{kBlockThreads} * kUnitBytes;

/// Copies and hashes whose every unit is aligned and whole. All loads come
/// before the first store: stores may go where loads come from, for all that a
/// compiler knows, and a load that waits for one leaves the memory idle.
ETC_HOST_DEVICE inline uint64_t runWideUnits(const Move &move, uint64_t first) {
  Words words[kUnitsPerThread];
  uint64_t to[kUnitsPerThread];
  ETC_UNROLL
  for (uint32_t i = 0; i != kUnitsPerThread; ++i) {
    const uint64_t offset = first + i * kUnitStride;
    if (offset >= move.bytes)
      break;
    const BytePlace place = locate(move, offset);
    words[i] = load<Words>(place.from);
    to[i] = place.to;
  }
  uint64_t sum = 0;
  ETC_UNROLL
  for (uint32_t i = 0; i != kUnitsPerThread; ++i) {
    const uint64_t offset = first + i * kUnitStride;
    if (offset >= move.bytes)
      break;
    if (move.kind == MoveKind::Copy)
      store(to[i], words[i]);
    sum += hashOf(move, offset, words[i]);
  }
  return sum;
}

/// Casts whose every unit is aligned and whole: two loads for a store.
ETC_HOST_DEVICE inline void runWideCasts(const Move &move, uint64_t first,
                                         uint64_t end) {
  ETC_NO_UNROLL
  for (uint64_t offset = first; offset < end; offset += kUnitStride) {
    const BytePlace place = locate(move, offset);
    const Words low = load<Words>(place.from);
    const Words high = load<Words>(place.from + kUnitBytes);
    store(place.to, castUnit(move.kind, low, high));
  }
}

/// Copies and hashes in pieces of `width` bytes, which divides the run, so that
/// no piece lies in two. Zeros stand behind the end.
ETC_HOST_DEVICE inline uint64_t runNarrowUnit(const Move &move, uint32_t width,
                                              uint64_t offset) {
  const uint64_t left = move.bytes - offset;
  const uint32_t bytes =
      left < kUnitBytes ? static_cast<uint32_t>(left) : kUnitBytes;
  Words words{};
  ETC_NO_UNROLL
  for (uint32_t at = 0; at < bytes; at += width) {
    const BytePlace place = locate(move, offset + at);
    const uint64_t piece = loadPiece(place.from, width);
    if (move.kind == MoveKind::Copy)
      storePiece(place.to, width, piece);
    (at < 8 ? words.low : words.high) |= piece << at % 8 * 8;
  }
  return hashOf(move, offset, words);
}

/// Returns whether the element is wrong.
ETC_HOST_DEVICE inline bool runElement(const Move &move, unsigned size,
                                       BytePlace place) {
  uint64_t value = 0;
  if (isCast(move.kind))
    value = castElement(move.kind, load<uint32_t>(place.from));
  else if (move.kind == MoveKind::Fill || move.kind == MoveKind::Check)
    value = valueBits(move.value, move.position, place.from / size);
  if (move.kind == MoveKind::Check || move.kind == MoveKind::CheckZero)
    return loadPiece(place.to, size) != value;
  storePiece(place.to, size, value);
  return false;
}

/// Bytes of the elements that runElement() goes by.
ETC_HOST_DEVICE inline unsigned elementBytes(const Move &move, uint32_t width) {
  if (move.kind == MoveKind::Zero)
    return width < 8 ? width : 8;
  return isCast(move.kind) ? 2 : valueBytes(move.value);
}

/// A thread's share of a tile. Returns what it adds to the move's sum: hashes,
/// or how many elements are wrong.
ETC_HOST_DEVICE inline uint64_t runTile(const Move &move, uint64_t tile,
                                        uint32_t thread) {
  const uint32_t width = widthOf(move);
  const uint64_t begin = tile * kTileBytes;
  const uint64_t first = begin + uint64_t{thread} * kUnitBytes;
  const bool isRead =
      move.kind == MoveKind::Copy || move.kind == MoveKind::Hash;
  if (width == kUnitBytes && isRead)
    return runWideUnits(move, first);
  const uint64_t end =
      begin + kTileBytes < move.bytes ? begin + kTileBytes : move.bytes;
  if (width == kUnitBytes && isCast(move.kind))
    return runWideCasts(move, first, end), 0;
  uint64_t sum = 0;
  if (isRead) {
    ETC_NO_UNROLL
    for (uint64_t at = first; at < end; at += kUnitStride)
      sum += runNarrowUnit(move, width, at);
    return sum;
  }
  // Neighbours do neighbouring elements, so that a warp's accesses coalesce.
  const unsigned size = elementBytes(move, width);
  ETC_NO_UNROLL
  for (uint64_t at = begin + uint64_t{thread} * size; at < end;
       at += uint64_t{kBlockThreads} * size)
    sum += runElement(move, size, locate(move, at));
  return sum;
}

/// Which move a tile of the whole table belongs to: `firstTile` has an entry a
/// move and one for the end.
ETC_HOST_DEVICE inline uint32_t moveOfTile(const uint64_t *firstTile,
                                           uint32_t moves, uint64_t tile) {
  uint32_t low = 0, high = moves;
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (firstTile[middle] <= tile)
      low = middle;
    else
      high = middle;
  }
  return low;
}

ETC_HOST_DEVICE inline uint64_t tilesOf(const Move &move) {
  return (move.bytes + kTileBytes - 1) / kTileBytes;
}

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_PACK_MOVEUNITS_H
