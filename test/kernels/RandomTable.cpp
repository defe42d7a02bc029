#include "RandomTable.h"

#include <algorithm>

using namespace etc::runtime;
using namespace etc::test;

constexpr uint64_t kBytes = 1 << 20;
/// Between the targets of two moves: what is written too far is seen.
constexpr uint64_t kGap = 64;

/// The bytes that a side with these strides takes.
static uint64_t span(const Move &move, const uint64_t *stride, uint64_t run) {
  uint64_t last = 0;
  for (uint32_t axis = 0; axis != move.axes; ++axis)
    last += (move.extent[axis] - 1) * stride[axis];
  return last + run;
}

/// `unit` divides all figures. One side is packed, as in a message; the other
/// has gaps behind its runs.
Move RandomTable::shape(MoveKind kind, uint64_t unit) {
  Move move;
  move.kind = kind;
  move.axes = kind == MoveKind::Hash ? 0 : number(0, 3);
  const uint64_t most = uint64_t{1} << number(4, 18);
  move.runBytes = number(1, std::max<uint64_t>(1, most / unit)) * unit;
  move.bytes = move.runBytes;
  uint64_t dense = move.runBytes, wide = move.runBytes + number(1, 9) * unit;
  const bool gathers = number(0, 1) == 0;
  for (uint32_t axis = move.axes; axis-- > 0;) {
    const uint64_t room = (uint64_t{1} << 18) / std::max(wide, dense);
    move.extent[axis] = number(1, std::clamp<uint64_t>(room, 1, 40));
    move.fromStride[axis] = gathers ? wide : dense;
    move.toStride[axis] = gathers ? dense : wide;
    dense *= move.extent[axis];
    wide = wide * move.extent[axis] + number(0, 3) * unit;
    move.bytes *= move.extent[axis];
  }
  for (uint64_t &stride : move.fromStride)
    stride *= readFactor(kind);
  return move;
}

void RandomTable::addMove() {
  const auto kind = static_cast<MoveKind>(number(0, 7));
  const auto value = static_cast<ValueKind>(number(0, 7));
  const bool isFormula = kind == MoveKind::Fill || kind == MoveKind::Check ||
                         kind == MoveKind::CheckZero;
  const uint64_t element = readFactor(kind) == 2 ? 4
                           : isFormula           ? valueBytes(value)
                                                 : 1;
  const uint64_t unit = std::max(element, uint64_t{1} << number(0, 5));
  Move move = shape(kind, unit);
  move.value = value;
  const uint64_t read = span(move, move.fromStride, move.runBytes) *
                        (readFactor(kind) == 2 ? 2 : 1);
  const uint64_t take =
      kind == MoveKind::Hash ? 0 : span(move, move.toStride, move.runBytes);
  move.to = (used + kGap) / kGap * kGap + number(0, 3) * unit;
  if (read + kGap * 4 > source.size() || move.to + take + kGap > kBytes)
    return;
  used = move.to + take;
  if (isFormula) // the bytes of elements before it in a large tensor
    move.from = number(0, uint64_t{1} << 40) * element;
  else
    move.from = reinterpret_cast<uint64_t>(source.data()) + number(0, 3) * unit;
  const bool counts = kind == MoveKind::Check || kind == MoveKind::CheckZero ||
                      kind == MoveKind::Hash;
  if (counts || (kind == MoveKind::Copy && number(0, 3) != 0))
    move.sum = static_cast<uint32_t>(number(0, sumCount - 1));
  move.position = isFormula ? random() : number(0, uint64_t{1} << 40) * 16;
  if (kind == MoveKind::CheckZero)
    std::fill(&written[move.to], &written[move.to] + take, std::byte{0});
  for (uint64_t wrong = 0; counts && take > 0 && wrong != 3; ++wrong)
    written[move.to + number(0, take - 1)] = std::byte(number(0, 255));
  moves.push_back(move);
}

RandomTable::RandomTable(unsigned seed)
    : random(seed), source(2 * kBytes), written(kBytes),
      sumCount(1 + seed % 3) {
  for (std::vector<std::byte> *data : {&source, &written})
    std::generate(data->begin(), data->end(),
                  [&] { return static_cast<std::byte>(random()); });
  const uint64_t count = number(1, 12);
  while (moves.size() < count)
    addMove();
}

std::vector<Move> RandomTable::movesTo(std::vector<std::byte> &target) const {
  std::vector<Move> placed = moves;
  for (Move &move : placed)
    move.to = move.kind == MoveKind::Hash
                  ? 0
                  : move.to + reinterpret_cast<uint64_t>(target.data());
  return placed;
}
