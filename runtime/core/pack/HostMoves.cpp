// Moves of host memory.

#include "core/pack/Copy.h"
#include "core/pack/Hash.h"
#include "core/pack/HashedRows.h"
#include "core/pack/HostCast.h"
#include "core/pack/HostCopy.h"

#include <algorithm>
#include <array>
#include <cstring>

using namespace etc::runtime;

namespace {

/// What a hash reads again soon enough to find it in the cache.
constexpr uint64_t kHashChunk = 64 << 10;
/// What is contiguous is packed with other pieces below this at most.
constexpr uint64_t kLargePiece = 128 << 10;
/// Runs up to here are asked for two runs ahead, longer ones so many bytes.
constexpr uint64_t kReadAhead = 4096;
/// Copies from here on write past the cache, which they would only flush.
constexpr uint64_t kStreamBytes = 1 << 20;
/// Runs below this have no whole line that would be worth it.
constexpr uint64_t kShortRun = 128;

std::byte *pointer(uint64_t address) {
  return reinterpret_cast<std::byte *>(address);
}

/// Calls visit(from, to) for the runs of a move, in order.
template <typename Visit> void forEachRun(const Move &move, Visit visit) {
  std::array<uint64_t, kMaxMoveAxes> position{};
  uint64_t from = move.from, to = move.to;
  while (true) {
    visit(from, to);
    uint32_t axis = move.axes;
    while (axis-- > 0) {
      from += move.fromStride[axis];
      to += move.toStride[axis];
      if (++position[axis] < move.extent[axis])
        break;
      from -= position[axis] * move.fromStride[axis];
      to -= position[axis] * move.toStride[axis];
      position[axis] = 0;
    }
    if (axis == ~0u)
      return;
  }
}

void copy(const Move &move) {
  if (move.bytes < kStreamBytes || move.runBytes < kShortRun) {
    forEachRun(move, [&](uint64_t from, uint64_t to) {
      std::memcpy(pointer(to), pointer(from), move.runBytes);
    });
    return;
  }
  StreamingCopy stream(move.runBytes);
  forEachRun(move, [&](uint64_t from, uint64_t to) {
    stream.add(pointer(to), pointer(from));
  });
}

/// The hash of a move's packed side, in chunks that the cache holds.
class PackedHash {
public:
  PackedHash(const Move &move, uint64_t packed) : move(move), packed(packed) {}

  uint64_t bytes() const { return hashed; }
  uint64_t sum() const { return total; }
  /// `end` is a multiple of the hash's unit, or all of the move.
  void advance(uint64_t end) {
    total += hashBytes(pointer(packed + hashed), end - hashed,
                       move.position + hashed);
    hashed = end;
  }

private:
  const Move &move;
  const uint64_t packed;
  uint64_t hashed = 0, total = 0;
};

/// Rows that are hashed on their way by one that copies them.
template <typename CopyRows>
uint64_t sweepRows(const Move &move, CopyRows copyRows) {
  Move sweep = move; // over the axes outside of the innermost one
  Rows rows{nullptr, nullptr, 1, move.runBytes, move.runBytes, move.runBytes};
  if (move.axes > 0) {
    rows.count = move.extent[--sweep.axes];
    rows.fromStride = move.fromStride[sweep.axes];
    rows.toStride = move.toStride[sweep.axes];
  }
  uint64_t sum = 0, position = move.position;
  forEachRun(sweep, [&](uint64_t from, uint64_t to) {
    rows.to = pointer(to), rows.from = pointer(from);
    sum += copyRows(rows, position);
    position += rows.count * rows.bytes;
  });
  return sum;
}

/// Packs: what was written is hashed, and read again by whoever sends it.
uint64_t gatherHashed(const Move &move) {
  if (suitHashing(move.runBytes))
    return sweepRows(move, [](const Rows &rows, uint64_t position) {
      return copyHashed(rows, position);
    });
  PackedHash hash(move, move.to);
  const uint64_t stride =
      move.axes > 0 ? move.fromStride[move.axes - 1] : kReadAhead;
  uint64_t done = 0;
  forEachRun(move, [&](uint64_t from, uint64_t to) {
    for (uint64_t at = 0; at != move.runBytes;) {
      const uint64_t now = std::min(move.runBytes - at, kHashChunk);
      const uint64_t ahead = now <= kReadAhead ? 2 * stride : kReadAhead;
      copyAhead(pointer(to + at), pointer(from + at), now, ahead);
      at += now;
      done += now;
      if (done - hash.bytes() >= kHashChunk)
        hash.advance(done / kHashUnit * kHashUnit);
    }
  });
  hash.advance(move.bytes);
  return hash.sum();
}

/// Unpacks: what is read is in the cache, or was hashed just before.
uint64_t scatterHashed(const Move &move) {
  if (suitStreaming(move))
    return sweepRows(move, streamHashed);
  PackedHash hash(move, move.from);
  StreamingCopy stream(move.runBytes);
  uint64_t done = 0;
  forEachRun(move, [&](uint64_t from, uint64_t to) {
    done += move.runBytes;
    if (done > hash.bytes()) {
      const uint64_t end = std::max(done, hash.bytes() + kHashChunk);
      hash.advance(
          std::min((end + kHashUnit - 1) / kHashUnit * kHashUnit, move.bytes));
    }
    if (move.runBytes < kShortRun)
      std::memcpy(pointer(to), pointer(from), move.runBytes);
    else
      stream.add(pointer(to), pointer(from));
  });
  return hash.sum();
}

/// One of the sides is packed. Where both are, small pieces are packed, and
/// large ones unpacked: whoever sends a large one sends it from where it is.
uint64_t copyHashed(const Move &move) {
  const bool gathers = move.axes == 0
                           ? move.bytes < kLargePiece
                           : move.toStride[move.axes - 1] == move.runBytes;
  return gathers ? gatherHashed(move) : scatterHashed(move);
}

void cast(const Move &move) {
  auto run = move.kind == MoveKind::CastBf16 ? castRunToBf16 : castRunToFp16;
  forEachRun(move, [&](uint64_t from, uint64_t to) {
    run(pointer(to), pointer(from), move.runBytes / sizeof(uint16_t));
  });
}

/// Calls visit(address, expected bits) for all elements of a formula.
template <typename Visit> void forEachValue(const Move &move, Visit visit) {
  const unsigned bytes = valueBytes(move.value);
  const bool isZero = move.kind == MoveKind::CheckZero;
  forEachRun(move, [&](uint64_t from, uint64_t to) {
    for (uint64_t at = 0; at != move.runBytes; at += bytes)
      visit(pointer(to + at),
            isZero ? 0
                   : valueBits(move.value, move.position, (from + at) / bytes));
  });
}

uint64_t countWrong(const Move &move) {
  const unsigned bytes = valueBytes(move.value);
  uint64_t wrong = 0;
  forEachValue(move, [&](const std::byte *element, uint64_t expected) {
    wrong += std::memcmp(element, &expected, bytes) != 0;
  });
  return wrong;
}

void fill(const Move &move) {
  const unsigned bytes = valueBytes(move.value);
  forEachValue(move, [&](std::byte *element, uint64_t value) {
    std::memcpy(element, &value, bytes);
  });
}

/// Executes one move; returns what it adds to its sum.
uint64_t execute(const Move &move) {
  switch (move.kind) {
  case MoveKind::Copy:
    if (move.sum != kNoSum)
      return copyHashed(move);
    copy(move);
    return 0;
  case MoveKind::Hash:
    return hashBytes(pointer(move.from), move.bytes, move.position);
  case MoveKind::Zero:
    forEachRun(move, [&](uint64_t, uint64_t to) {
      std::memset(pointer(to), 0, move.runBytes);
    });
    return 0;
  case MoveKind::CastBf16:
  case MoveKind::CastFp16:
    cast(move);
    return 0;
  case MoveKind::Fill:
    fill(move);
    return 0;
  case MoveKind::Check:
  case MoveKind::CheckZero:
    return countWrong(move);
  }
  return 0;
}

} // namespace

void etc::runtime::runMoves(std::span<const Move> moves,
                            std::span<uint64_t> sums) {
  for (const Move &move : moves) {
    uint64_t share = execute(move);
    if (move.sum != kNoSum)
      sums[move.sum] += share;
  }
}
