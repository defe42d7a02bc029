//===- RowShards.cpp - What FSDP gives a rank -----------------------------===//

#include "etc/Layout/Layout.h"

#include <algorithm>

using namespace etc;
using namespace etc::layout;
using model::TensorTemplate;
using request::Parallelism;

/// The rows that the trainer sees of a slot's box: of the planning axes that
/// its view has as one, all together.
static int64_t rowsOf(const TensorTemplate &tensor, const Parallelism &parallel,
                      const Box &box) {
  const std::vector<int64_t> shape = model::shapeOn(tensor, parallel);
  const int64_t wanted =
      tensor.view.empty() ? shape.front() : tensor.view.front();
  int64_t whole = 1, rows = 1;
  for (size_t axis = 0; axis < shape.size() && whole < wanted; ++axis) {
    whole *= shape[axis];
    rows *= box[axis].size();
  }
  // Planning may have merged the rows with what lies behind them.
  return whole == wanted ? rows : wanted;
}

llvm::SmallVector<Box> etc::layout::rowShard(const TensorTemplate &tensor,
                                             const Parallelism &parallel,
                                             Role role) {
  const Box box = boxOf(tensor, parallel, role.t);
  const int64_t rows = rowsOf(tensor, parallel, box),
                width = volume(box) / rows,
                share = (rows + parallel.fsdp - 1) / parallel.fsdp,
                begin = std::min(rows, share * (role.d % parallel.fsdp)),
                end = std::min(rows, begin + share);
  return flatBoxes(box, {begin * width, end * width});
}
