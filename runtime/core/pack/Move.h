// What happens to the memory of a device, as plain data: the same descriptors
// are executed by the host and, as one table, by a kernel.

#ifndef ETC_RUNTIME_CORE_PACK_MOVE_H
#define ETC_RUNTIME_CORE_PACK_MOVE_H

#include "core/pack/HostDevice.h"
#include "core/pack/Values.h"

#include <cstddef>
#include <cstdint>

namespace etc::runtime {

constexpr unsigned kMaxMoveAxes = 7;
/// A move whose sum nobody wants.
constexpr uint32_t kNoSum = ~uint32_t{0};

enum class MoveKind : uint32_t {
  Copy,     // from -> to; adds the hash of what was copied to the sum
  Hash,     // reads `from` and adds its hash to the sum
  Zero,     // -> to
  CastBf16, // fp32 from -> bf16 to
  CastFp16,
  Fill,      // the formula's elements -> to
  Check,     // adds the number of elements of `to` that differ from the formula
  CheckZero, // adds the number of elements of `to` that are not zero
};

/// Elements of a box, in row-major order: runs that are contiguous on both
/// sides, and an odometer over the axes outside of them. All figures are bytes
/// of the written side; a cast reads twice as many. For a formula, `from` is
/// not memory but counts the bytes of the elements before in the whole tensor.
struct Move {
  uint64_t from = 0;
  uint64_t to = 0;
  uint64_t bytes = 0;
  uint64_t runBytes = 0;
  uint64_t extent[kMaxMoveAxes] = {};
  uint64_t fromStride[kMaxMoveAxes] = {}, toStride[kMaxMoveAxes] = {};
  /// Where the bytes stand in their message (hash), or the tensor's key.
  uint64_t position = 0;
  uint32_t axes = 0;
  MoveKind kind = MoveKind::Copy;
  uint32_t sum = kNoSum; // which sum takes the hash or the count
  ValueKind value = ValueKind::U8;
};

/// Bytes that are read for one that is written.
ETC_HOST_DEVICE inline uint64_t readFactor(MoveKind kind) {
  return kind == MoveKind::CastBf16 || kind == MoveKind::CastFp16 ? 2 : 1;
}

struct BytePlace {
  uint64_t from, to;
};

/// A quotient. Nearly all are of 32-bit numbers once the divisor's power of two
/// is gone. The others go bit by bit: a 64-bit division is a call on a GPU, for
/// which every thread would keep registers free.
ETC_HOST_DEVICE inline uint64_t divide(uint64_t a, uint64_t b) {
  const unsigned zeros = trailingZeros(b);
  a >>= zeros, b >>= zeros;
  if ((a | b) >> 32 == 0)
    return static_cast<uint32_t>(a) / static_cast<uint32_t>(b);
  uint64_t quotient = 0, rest = 0;
  ETC_NO_UNROLL
  for (unsigned bit = 64; bit-- > 0;) {
    rest = rest << 1 | (a >> bit & 1);
    quotient <<= 1;
    if (rest >= b)
      rest -= b, quotient |= 1;
  }
  return quotient;
}

/// Where the byte at `offset` of a move's elements is, on both sides.
ETC_HOST_DEVICE inline BytePlace locate(const Move &move, uint64_t offset) {
  if (move.axes == 0)
    return {move.from + offset * readFactor(move.kind), move.to + offset};
  uint64_t run = divide(offset, move.runBytes);
  uint64_t within = offset - run * move.runBytes;
  BytePlace place{move.from + within * readFactor(move.kind), move.to + within};
  ETC_NO_UNROLL
  for (uint32_t axis = move.axes; axis-- > 0;) {
    uint64_t rest = divide(run, move.extent[axis]);
    uint64_t at = run - rest * move.extent[axis];
    place.from += at * move.fromStride[axis];
    place.to += at * move.toStride[axis];
    run = rest;
  }
  return place;
}

/// The widest power of two, up to 16, that divides run, addresses and strides:
/// what can be read and written at once.
ETC_HOST_DEVICE inline uint32_t widthOf(const Move &move) {
  uint64_t bits = 16 | move.from | move.to | move.runBytes;
  ETC_NO_UNROLL
  for (uint32_t axis = 0; axis != move.axes; ++axis)
    bits |= move.fromStride[axis] | move.toStride[axis];
  return static_cast<uint32_t>(bits & -bits);
}

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_PACK_MOVE_H
