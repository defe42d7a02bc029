#include "core/pack/Copy.h"

#include "core/pack/Runs.h"

using namespace etc;
using namespace etc::runtime;

static uint64_t address(const std::byte *data) {
  return reinterpret_cast<uint64_t>(data);
}

static Move moveOf(MoveKind kind, ConstRegion from, Region to, BoxView part,
                   unsigned elementBytes) {
  RunShape shape = shapeOfRuns(from.box, to.box, part);
  Move move;
  move.kind = kind;
  const uint64_t fromBytes = elementBytes * readFactor(kind);
  move.from = address(from.data) + shape.fromIndex * fromBytes;
  move.to = address(to.data) + shape.toIndex * elementBytes;
  move.bytes = volume(part) * elementBytes;
  move.runBytes = shape.run * elementBytes;
  for (unsigned axis = 0; axis != shape.axes; ++axis) {
    if (shape.extent[axis] == 1)
      continue;
    move.extent[move.axes] = shape.extent[axis];
    move.fromStride[move.axes] = shape.fromStride[axis] * fromBytes;
    move.toStride[move.axes] = shape.toStride[axis] * elementBytes;
    ++move.axes;
  }
  return move;
}

Move etc::runtime::copyMove(ConstRegion from, Region to, BoxView part,
                            unsigned elementBytes) {
  return moveOf(MoveKind::Copy, from, to, part, elementBytes);
}

Move etc::runtime::hashMove(const std::byte *data, uint64_t bytes) {
  Move move;
  move.kind = MoveKind::Hash;
  move.from = address(data);
  move.bytes = move.runBytes = bytes;
  return move;
}

Move etc::runtime::zeroMove(Region to, BoxView part, unsigned elementBytes) {
  return moveOf(MoveKind::Zero, {to.data, to.box}, to, part, elementBytes);
}

Move etc::runtime::castMove(ConstRegion from, Region to, BoxView part,
                            plan::fb::DType dtype) {
  MoveKind kind =
      dtype == plan::fb::DType::bf16 ? MoveKind::CastBf16 : MoveKind::CastFp16;
  return moveOf(kind, from, to, part, plan::elementBytes(dtype));
}

bool etc::runtime::isContiguous(BoxView box, BoxView part) {
  RunShape shape = shapeOfRuns(box, part, part);
  for (unsigned axis = 0; axis != shape.axes; ++axis)
    if (shape.extent[axis] != 1)
      return false;
  return true;
}
