//===- HeldBoxes.cpp - What a role holds ----------------------------------===//

#include "etc/Layout/PoolHoldings.h"

using namespace etc;
using namespace etc::layout;
using request::Parallelism;

Box etc::layout::boxOf(const model::TensorTemplate &tensor,
                       const Parallelism &parallel, int64_t t) {
  Box box = boxOfShape(model::shapeOn(tensor, parallel));
  if (tensor.splitAxis >= 0) {
    int64_t ranks = tensor.ofExpert ? parallel.expertTp() : parallel.tp;
    Span &span = box[tensor.splitAxis];
    int64_t size = span.end / ranks;
    span = Span{0, size}.shifted(t % ranks * size);
  }
  return box;
}

std::vector<HeldBox> etc::layout::holdings(const model::Model &model,
                                           const Parallelism &parallel,
                                           Role role) {
  return PoolHoldings(model, parallel, role.p, role.t).getAll(role.d);
}

int64_t etc::layout::bytesOf(llvm::ArrayRef<HeldBox> held,
                             const model::Model &model) {
  int64_t bytes = 0;
  for (const HeldBox &one : held)
    bytes += volume(one.box) * model.bytesPerElement(model.tensors[one.tensor]);
  return bytes;
}
