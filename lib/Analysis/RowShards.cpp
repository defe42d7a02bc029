//===- RowShards.cpp - What FSDP cuts -------------------------------------===//

#include "etc/Analysis/RowShards.h"

#include "etc/Analysis/FlatBoxes.h"

#include "llvm/Support/MathExtras.h"

using namespace etc;
using llvm::ArrayRef;
using llvm::SmallVector;

/// The rows that the trainer sees of a piece that is cut along the tensor's cut
/// axis alone: its view may have several axes of the planning shape as one, or
/// several as what planning has as one.
static int64_t countRows(TensorOp tensor, Side side, const Piece &piece) {
  ArrayRef<int64_t> shape = tensor.getShapeOn(side);
  const int64_t cutAxis = tensor.getCutAxis(),
                wanted = tensor.getView() ? tensor.getView()->front()
                                          : shape.front();
  int64_t whole = 1, rows = 1;
  for (int64_t axis = 0; whole < wanted; ++axis) {
    whole *= shape[axis];
    rows *= axis == cutAxis ? piece.cut.size() : shape[axis];
  }
  return whole == wanted ? rows : wanted;
}

SmallVector<Piece> etc::rowShards(const TensorTable &table,
                                  ParallelAttr parallel, Side side,
                                  ArrayRef<Piece> pool, int64_t replica) {
  const int64_t shards = parallel.getFsdp(), shard = replica % shards;
  SmallVector<Piece> pieces;
  for (const Piece &piece : pool) {
    const int64_t rows = countRows(table[piece.tensor], side, piece),
                  width = piece.size() / rows,
                  share = llvm::divideCeil(rows, shards);
    appendFlatBoxes(piece, std::min(rows, share * shard) * width,
                    std::min(rows, share * (shard + 1)) * width, pieces);
  }
  return pieces;
}
