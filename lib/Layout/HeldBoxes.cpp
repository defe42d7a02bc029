//===- HeldBoxes.cpp - What a role holds ----------------------------------===//

#include "etc/Layout/Layout.h"

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

/// What a role holds of one chunk.
static void appendChunk(const model::Model &model, const Parallelism &parallel,
                        Role role, int64_t k, std::vector<HeldBox> &held) {
  std::vector<FlatSpan> flat;
  if (parallel.distributedOptimizer)
    flat = flatSpans(model, parallel, role, k);
  auto nextFlat = flat.begin();
  for (const Instance &instance :
       instancesOf(model, parallel, role.p, k, role.t)) {
    const model::TensorTemplate &tensor = model.tensors[instance.tensor];
    Box box = boxOf(tensor, parallel, role.t);
    llvm::SmallVector<Box> boxes;
    if (tensor.flat && parallel.distributedOptimizer)
      boxes = flatBoxes(box, (nextFlat++)->span);
    else if (parallel.fsdp > 1)
      boxes = rowShard(tensor, parallel, role);
    else
      boxes.push_back(std::move(box));
    for (Box &part : boxes)
      held.push_back(
          {instance.tensor, instance.layer, std::move(part), instance.expert});
  }
}

std::vector<HeldBox> etc::layout::holdings(const model::Model &model,
                                           const Parallelism &parallel,
                                           Role role) {
  std::vector<HeldBox> held;
  for (int64_t k = 0; k < parallel.vpp; ++k)
    appendChunk(model, parallel, role, k, held);
  return held;
}

int64_t etc::layout::bytesOf(llvm::ArrayRef<HeldBox> held,
                             const model::Model &model) {
  int64_t bytes = 0;
  for (const HeldBox &one : held)
    bytes += volume(one.box) * model.bytesPerElement(model.tensors[one.tensor]);
  return bytes;
}
