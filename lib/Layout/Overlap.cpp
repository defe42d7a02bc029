//===- Overlap.cpp - What two roles share ---------------------------------===//

#include "etc/Layout/Layout.h"

#include <map>
#include <tuple>

using namespace etc;
using namespace etc::layout;
using request::Parallelism;

/// Whether two tensors are equal, element by element, in the same types.
static bool areTwins(const model::TensorTemplate &a,
                     const model::TensorTemplate &b) {
  auto primaryOf = [](const model::TensorTemplate &tensor) {
    return tensor.tiedTo.empty() ? tensor.name : tensor.tiedTo;
  };
  return primaryOf(a) == primaryOf(b) && a.types == b.types;
}

std::vector<unsigned> etc::layout::sourceTensors(const model::Model &model,
                                                 const Parallelism &prev,
                                                 unsigned tensor) {
  const model::TensorTemplate &wanted = model.tensors[tensor];
  std::vector<unsigned> sources;
  if (existsOn(wanted, prev))
    sources.push_back(tensor);
  for (unsigned i = 0; i < model.tensors.size(); ++i)
    if (const model::TensorTemplate &other = model.tensors[i];
        i != tensor && areTwins(wanted, other) && existsOn(other, prev))
      sources.push_back(i);
  return sources;
}

namespace {
/// What is held of every tensor.
using Held =
    std::map<std::tuple<unsigned, int64_t, int64_t>, std::vector<const Box *>>;
} // namespace

static Held indexByTensor(llvm::ArrayRef<HeldBox> boxes) {
  Held held;
  for (const HeldBox &one : boxes)
    held[{one.tensor, one.layer, one.expert}].push_back(&one.box);
  return held;
}

int64_t etc::layout::overlapBytes(const model::Model &model,
                                  const Parallelism &prev, Role prevRole,
                                  const Parallelism &curr, Role currRole) {
  std::vector<HeldBox> before = holdings(model, prev, prevRole);
  Held held = indexByTensor(before);
  int64_t bytes = 0;
  for (const HeldBox &wanted : holdings(model, curr, currRole)) {
    std::vector<Box> rest = {wanted.box};
    for (unsigned source : sourceTensors(model, prev, wanted.tensor)) {
      auto found = held.find({source, wanted.layer, wanted.expert});
      if (found == held.end())
        continue;
      for (const Box *box : found->second)
        rest = subtract(rest, *box);
    }
    uint64_t elements = volume(wanted.box);
    for (const Box &left : rest)
      elements -= volume(left);
    bytes += elements * model.bytesPerElement(model.tensors[wanted.tensor]);
  }
  return bytes;
}
