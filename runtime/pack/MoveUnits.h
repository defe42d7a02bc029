// Moves in units of 16 bytes, each of which any thread can do by itself: the
// bodies of the GPU's kernel, which the host can run and test.

#ifndef ETC_RUNTIME_PACK_MOVEUNITS_H
#define ETC_RUNTIME_PACK_MOVEUNITS_H

#include "pack/Hash.h"
#include "pack/Move.h"

namespace etc::runtime {

constexpr uint32_t kUnitBytes = 16;
/// What a block of threads does at a time.
constexpr uint32_t kBlockThreads = 256;
constexpr uint32_t kUnitsPerThread = 4;
constexpr uint64_t kTileBytes =
    uint64_t{kUnitBytes} * kBlockThreads * kUnitsPerThread;

struct alignas(16) Words {
  uint64_t low = 0, high = 0;
};

/// One load and one store.
template <uint32_t width>
ETC_HOST_DEVICE inline void copyAligned(void *to, const void *from) {
  memcpy(__builtin_assume_aligned(to, width),
         __builtin_assume_aligned(from, width), width);
}

/// The same for a width that is known later, and divides both addresses.
ETC_HOST_DEVICE inline void copyPiece(void *to, const void *from,
                                      uint32_t width) {
  switch (width) {
  case 16:
    return copyAligned<16>(to, from);
  case 8:
    return copyAligned<8>(to, from);
  case 4:
    return copyAligned<4>(to, from);
  case 2:
    return copyAligned<2>(to, from);
  default:
    return copyAligned<1>(to, from);
  }
}

/// Calls visit(from, to, inUnit) for the pieces of `width` bytes of the unit at
/// `offset`. `width` divides the run, so no piece lies in two.
template <typename Visit>
ETC_HOST_DEVICE inline void forEachPiece(const Move &move, uint32_t width,
                                         uint64_t offset, Visit visit) {
  uint64_t left = move.bytes - offset;
  uint32_t bytes = left < kUnitBytes ? static_cast<uint32_t>(left) : kUnitBytes;
  for (uint32_t at = 0; at < bytes; at += width) {
    BytePlace place = locate(move, offset + at);
    visit(place.from, place.to, at);
  }
}

/// The unit of the read side; zeros behind the end.
ETC_HOST_DEVICE inline Words loadUnit(const Move &move, uint32_t width,
                                      uint64_t offset) {
  Words words;
  auto *bytes = reinterpret_cast<unsigned char *>(&words);
  forEachPiece(move, width, offset, [&](uint64_t from, uint64_t, uint32_t at) {
    copyPiece(bytes + at, reinterpret_cast<const void *>(from), width);
  });
  return words;
}

ETC_HOST_DEVICE inline void storeUnit(const Move &move, uint32_t width,
                                      uint64_t offset, Words words) {
  const auto *bytes = reinterpret_cast<const unsigned char *>(&words);
  forEachPiece(move, width, offset, [&](uint64_t, uint64_t to, uint32_t at) {
    copyPiece(reinterpret_cast<void *>(to), bytes + at, width);
  });
}

ETC_HOST_DEVICE inline uint64_t hashOf(const Move &move, uint64_t offset,
                                       Words words) {
  return move.sum == kNoSum
             ? 0
             : hashUnit(words.low, words.high, move.position + offset);
}

/// Casts, fills and checks: an element at a time. Returns how many are wrong.
ETC_HOST_DEVICE inline uint64_t runElements(const Move &move, uint64_t offset) {
  const bool isCast = readFactor(move.kind) == 2;
  const unsigned size = isCast ? 2 : valueBytes(move.value);
  uint64_t wrong = 0;
  forEachPiece(move, size, offset, [&](uint64_t from, uint64_t to, uint32_t) {
    uint64_t value = 0;
    if (isCast) {
      uint32_t bits;
      copyAligned<4>(&bits, reinterpret_cast<const void *>(from));
      value = move.kind == MoveKind::CastBf16 ? castBitsToBf16(bits)
                                              : castBitsToFp16(bits);
    } else if (move.kind != MoveKind::CheckZero) {
      value = valueBits(move.value, move.position, from / size);
    }
    auto *place = reinterpret_cast<void *>(to);
    if (move.kind == MoveKind::Check || move.kind == MoveKind::CheckZero) {
      uint64_t actual = 0;
      copyPiece(&actual, place, size);
      wrong += actual != value;
    } else {
      copyPiece(place, &value, size);
    }
  });
  return wrong;
}

/// Does one unit; returns what it adds to the move's sum.
ETC_HOST_DEVICE inline uint64_t runUnit(const Move &move, uint32_t width,
                                        uint64_t offset) {
  switch (move.kind) {
  case MoveKind::Copy: {
    Words words = loadUnit(move, width, offset);
    storeUnit(move, width, offset, words);
    return hashOf(move, offset, words);
  }
  case MoveKind::Hash:
    return hashOf(move, offset, loadUnit(move, width, offset));
  case MoveKind::Zero:
    storeUnit(move, width, offset, Words{});
    return 0;
  default:
    return runElements(move, offset);
  }
}

/// A thread's share of a tile: units side by side with its neighbours'. Copies
/// load all before they store, so that the loads overlap.
ETC_HOST_DEVICE inline uint64_t runTile(const Move &move, uint64_t tile,
                                        uint32_t thread) {
  const uint32_t width = widthOf(move);
  const uint64_t first = tile * kTileBytes + uint64_t{thread} * kUnitBytes;
  constexpr uint64_t stride = uint64_t{kBlockThreads} * kUnitBytes;
  uint64_t sum = 0;
  if (move.kind == MoveKind::Copy && width == kUnitBytes &&
      first + (kUnitsPerThread - 1) * stride + kUnitBytes <= move.bytes) {
    Words words[kUnitsPerThread];
    uint64_t to[kUnitsPerThread];
    for (uint32_t i = 0; i != kUnitsPerThread; ++i) {
      BytePlace place = locate(move, first + i * stride);
      copyAligned<kUnitBytes>(&words[i],
                              reinterpret_cast<const void *>(place.from));
      to[i] = place.to;
    }
    for (uint32_t i = 0; i != kUnitsPerThread; ++i) {
      copyAligned<kUnitBytes>(reinterpret_cast<void *>(to[i]), &words[i]);
      sum += hashOf(move, first + i * stride, words[i]);
    }
    return sum;
  }
  for (uint32_t i = 0; i != kUnitsPerThread; ++i)
    if (first + i * stride < move.bytes)
      sum += runUnit(move, width, first + i * stride);
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

#endif // ETC_RUNTIME_PACK_MOVEUNITS_H
