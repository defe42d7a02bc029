// Tensors, shards and boxes.

#include "core/plan/FormatRules.h"

#include <algorithm>
#include <unordered_map>

using namespace etc;
using namespace etc::plan;

/// No tensor is larger: 16 TiB. Sums of a few of them stay far from overflow.
constexpr uint64_t kMaxTensorBytes = uint64_t{1} << 44;

static Status checkShape(const Longs &shape, unsigned elementBytes) {
  if (shape.size() == 0 || shape.size() > kMaxRank)
    return malformed(": ", shape.size(), " axes, from 1 to ", kMaxRank,
                     " are allowed");
  uint64_t bytes = elementBytes;
  for (uint32_t axis = 0; axis != shape.size(); ++axis) {
    if (shape[axis] < 1)
      return malformed("[", axis, "]: ", shape[axis], " is not at least 1");
    bytes = mulBytes(bytes, static_cast<uint64_t>(shape[axis]));
  }
  if (bytes > kMaxTensorBytes)
    return malformed(": larger than 16 TiB");
  return Status::success();
}

static Status checkView(const fb::Tensor &tensor) {
  const Longs &view = *tensor.view();
  if (Status s = checkShape(view, elementBytes(tensor.dtype())); !s.ok())
    return s;
  auto product = [](const Longs &shape) {
    uint64_t elements = 1;
    for (int64_t extent : shape)
      elements *= static_cast<uint64_t>(extent);
    return elements;
  };
  if (product(view) == product(*tensor.shape()))
    return Status::success();
  return malformed(": ", product(view), " elements, the shape has ",
                   product(*tensor.shape()));
}

static Status checkPrevShape(const fb::Tensor &tensor) {
  const Longs &prev = *tensor.prev_shape();
  if (prev.size() != tensor.shape()->size())
    return malformed(": ", prev.size(), " axes, the shape has ",
                     tensor.shape()->size());
  return checkShape(prev, elementBytes(tensor.dtype()));
}

Status etc::plan::checkShapes(const fb::Tensor &tensor) {
  if (elementBytes(tensor.dtype()) == 0)
    return malformed(".dtype: ", int(tensor.dtype()), " is not a known type");
  if (Status s = checkShape(*tensor.shape(), elementBytes(tensor.dtype()));
      !s.ok())
    return under(".shape", s);
  if (tensor.view())
    if (Status s = checkView(tensor); !s.ok())
      return under(".view", s);
  if (tensor.prev_shape())
    if (Status s = checkPrevShape(tensor); !s.ok())
      return under(".prev_shape", s);
  return Status::success();
}

static Status checkDerivation(const fb::Plan &plan, const fb::Tensor &entry) {
  if (entry.derived_from() < 0)
    return entry.is_derived()
               ? malformed(".is_derived: the tensor has no derived_from")
               : Status::success();
  const fb::Tensor &source = *plan.tensors()->Get(entry.derived_from());
  if (source.derived_from() >= 0)
    return malformed(".derived_from: tensors[", entry.derived_from(),
                     "] is derived itself");
  bool isHalf =
      entry.dtype() == fb::DType::bf16 || entry.dtype() == fb::DType::fp16;
  if (source.dtype() != fb::DType::fp32 || !isHalf)
    return malformed(".derived_from: no cast from ",
                     fb::EnumNameDType(source.dtype()), " to ",
                     fb::EnumNameDType(entry.dtype()),
                     ", only from fp32 to bf16 or fp16");
  return Status::success();
}

/// Messages, which are lines, quote names.
static bool isPrintable(std::string_view text) {
  return std::none_of(text.begin(), text.end(),
                      [](unsigned char c) { return c < 0x20 || c == 0x7f; });
}

static Status checkPattern(const fb::Plan &plan, const fb::Tensor &tensor) {
  const int64_t count = plan.patterns() ? plan.patterns()->size() : 0;
  return tensor.pattern() >= -1 && tensor.pattern() < count
             ? Status::success()
             : malformed(".pattern: ", tensor.pattern(), " is not in [-1, ",
                         count, ")");
}

static Status checkLinks(const fb::Plan &plan, uint32_t index) {
  const fb::Tensor &entry = *plan.tensors()->Get(index);
  const int64_t count = plan.tensors()->size();
  auto equals = [&](const flatbuffers::Vector<int64_t> *shape) {
    return shape && std::equal(entry.shape()->begin(), entry.shape()->end(),
                               shape->begin(), shape->end());
  };
  // A tensor that vanishes has the previous side's shape.
  auto sameShape = [&](const fb::Tensor &other) {
    return equals(other.shape()) || equals(other.prev_shape());
  };
  for (auto [name, link] : {std::pair(".tied_to", entry.tied_to()),
                            std::pair(".derived_from", entry.derived_from())}) {
    if (link == -1)
      continue;
    if (link < 0 || link >= count)
      return malformed(name, ": ", link, " is not in [-1, ", count, ")");
    if (link == static_cast<int64_t>(index))
      return malformed(name, ": the tensor itself");
    if (!sameShape(*plan.tensors()->Get(link)))
      return malformed(name, ": tensors[", link, "] has another shape");
  }
  if (entry.tied_to() >= 0) {
    const fb::Tensor &twin = *plan.tensors()->Get(entry.tied_to());
    if (twin.tied_to() >= 0)
      return malformed(".tied_to: tensors[", entry.tied_to(),
                       "] is a tied copy itself");
    if (twin.dtype() != entry.dtype() ||
        twin.type()->string_view() != entry.type()->string_view())
      return malformed(".tied_to: tensors[", entry.tied_to(),
                       "] has another type");
  }
  return checkDerivation(plan, entry);
}

namespace {

/// A name and a type.
using TensorName = std::pair<std::string_view, std::string_view>;

struct HashName {
  size_t operator()(const TensorName &name) const {
    const std::hash<std::string_view> hash;
    return 31 * hash(name.first) + hash(name.second);
  }
};

} // namespace

Status etc::plan::checkTensors(const fb::Plan &plan) {
  std::unordered_map<TensorName, uint32_t, HashName> seen;
  seen.reserve(plan.tensors()->size());
  for (uint32_t t = 0; t != plan.tensors()->size(); ++t) {
    const fb::Tensor &entry = *plan.tensors()->Get(t);
    if (!isPrintable(entry.name()->string_view()) ||
        !isPrintable(entry.type()->string_view()))
      return malformed(item("tensors", t),
                       ": its name or type has a control character");
    if (Status s = checkShapes(entry); !s.ok())
      return under(item("tensors", t), s);
    if (Status s = checkPattern(plan, entry); !s.ok())
      return under(item("tensors", t), s);
    auto [it, isNew] = seen.try_emplace(
        {entry.name()->string_view(), entry.type()->string_view()}, t);
    if (!isNew)
      return malformed(item("tensors", t), ": ", entry.name()->str(), " (",
                       entry.type()->str(), ") is tensors[", it->second,
                       "] already");
  }
  for (uint32_t t = 0; t != plan.tensors()->size(); ++t)
    if (Status s = checkLinks(plan, t); !s.ok())
      return under(item("tensors", t), s);
  return Status::success();
}

Status etc::plan::checkBox(std::span<const int64_t> bounds, uint32_t offset,
                           const fb::Tensor &entry) {
  const Longs &shape = *entry.shape();
  const Longs *prev = entry.prev_shape();
  const uint32_t rank = shape.size();
  if (uint64_t{offset} + 2 * rank > bounds.size())
    return malformed(": bounds [", offset, ", ", uint64_t{offset} + 2 * rank,
                     ") are not in [0, ", bounds.size(), ")");
  const BoxView box = BoxView::ofBounds(bounds.data() + offset, rank);
  for (uint32_t axis = 0; axis != rank; ++axis) {
    const auto [begin, end] = box[axis];
    const int64_t extent =
        prev ? std::max(shape[axis], prev->Get(axis)) : shape[axis];
    if (begin < 0 || begin >= end || end > extent)
      return malformed(": axis ", axis, ": ", begin, ":", end,
                       " is not a range of [0, ", extent, ")");
  }
  return Status::success();
}

/// Messages go on from the shard's path.
static Status checkShard(const fb::Plan &plan, const fb::Shard &shard) {
  if (shard.tensor() >= plan.tensors()->size())
    return outOfRange(".tensor", shard.tensor(), plan.tensors()->size());
  if (shard.box_count() == 0)
    return malformed(".box_count: a shard has at least one box");
  const uint64_t end = uint64_t{shard.first_box()} + shard.box_count();
  if (end > plan.boxes()->size())
    return malformed(": boxes [", shard.first_box(), ", ", end,
                     ") are not in [0, ", plan.boxes()->size(), ")");
  for (uint64_t b = shard.first_box(); b != end; ++b)
    if (Status s = checkBox(boundsOf(plan), plan.boxes()->Get(b),
                            *plan.tensors()->Get(shard.tensor()));
        !s.ok())
      return under(": " + item("boxes", b), s);
  if (shard.box_count() == 1)
    return Status::success();
  std::vector<BoxView> boxes;
  for (uint64_t b = shard.first_box(); b != end; ++b)
    boxes.push_back(BoxView::ofBounds(
        plan.bounds()->data() + plan.boxes()->Get(b),
        plan.tensors()->Get(shard.tensor())->shape()->size()));
  if (auto overlap = findOverlap(boxes))
    return malformed(": its boxes ", describe(boxes[overlap->first]), " and ",
                     describe(boxes[overlap->second]), " overlap");
  return Status::success();
}

/// Where shards shared boxes, a small file could state any number of them.
Status etc::plan::checkShards(const fb::Plan &plan) {
  uint64_t end = 0; // of the boxes of the shards before
  for (uint32_t i = 0; i != plan.shards()->size(); ++i) {
    const fb::Shard &shard = *plan.shards()->Get(i);
    if (shard.first_box() < end)
      return under(item("shards", i),
                   malformed(".first_box: ", shard.first_box(),
                             ", the boxes of the shards before end at ", end));
    if (Status s = checkShard(plan, shard); !s.ok())
      return under(item("shards", i), s);
    end = uint64_t{shard.first_box()} + shard.box_count();
  }
  return Status::success();
}
