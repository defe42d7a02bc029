//===- Overlap.cpp - What two roles share ---------------------------------===//

#include "etc/Layout/Layout.h"

#include <map>
#include <tuple>

using namespace etc;
using namespace etc::layout;
using request::Parallelism;

/// The tensor that another is tied to, in the same types.
static std::optional<unsigned> twinOf(const model::Model &model,
                                      const model::TensorTemplate &tensor) {
  if (tensor.tiedTo.empty())
    return std::nullopt;
  for (unsigned i = 0; i < model.tensors.size(); ++i)
    if (model.tensors[i].name == tensor.tiedTo &&
        model.tensors[i].types == tensor.types)
      return i;
  return std::nullopt;
}

std::optional<unsigned> etc::layout::sourceTensor(const model::Model &model,
                                                  const Parallelism &prev,
                                                  unsigned tensor) {
  const model::TensorTemplate &wanted = model.tensors[tensor];
  if (existsOn(wanted, prev))
    return tensor;
  std::optional<unsigned> twin = twinOf(model, wanted);
  if (twin && existsOn(model.tensors[*twin], prev))
    return twin;
  return std::nullopt;
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
    std::optional<unsigned> source = sourceTensor(model, prev, wanted.tensor);
    if (!source)
      continue;
    auto found = held.find({*source, wanted.layer, wanted.expert});
    if (found == held.end())
      continue;
    // The boxes of one role are disjoint.
    for (const Box *box : found->second)
      bytes += sharedVolume(wanted.box, *box) *
               model.bytesPerElement(model.tensors[wanted.tensor]);
  }
  return bytes;
}
