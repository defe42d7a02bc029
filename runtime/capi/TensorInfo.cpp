#include "capi/TensorInfo.h"

#include <algorithm>

using namespace etc;
using namespace etc::runtime;
namespace fb = etc::plan::fb;

static_assert(ETC_MAX_AXES == etc::plan::kMaxRank);
static_assert(ETC_BF16 == static_cast<int>(fb::DType::bf16) &&
              ETC_U8 == static_cast<int>(fb::DType::u8));

namespace {

/// The planning shape may factor an axis that the trainer has as one: its local
/// extent is the product of the factors'. Or it merges axes: all but the first
/// of them are whole. Empty where the view is neither.
std::vector<int64_t> groupAxes(const fb::Tensor &tensor, BoxView box) {
  const auto &shape = *tensor.shape(), &view = *tensor.view();
  std::vector<int64_t> local;
  uint32_t axis = 0;
  for (uint32_t seen = 0; seen != view.size(); ++seen) {
    int64_t global = 1, part = 1, rest = 1;
    while (global < view.Get(seen) && axis < shape.size()) {
      global *= shape.Get(axis);
      part *= box[axis].size();
      ++axis;
    }
    const uint32_t first = seen;
    while (global > view.Get(first) * rest && seen + 1 != view.size())
      rest *= view.Get(++seen);
    if (global != view.Get(first) * rest || part % rest != 0)
      return {};
    local.push_back(part / rest);
    for (uint32_t whole = first + 1; whole <= seen; ++whole)
      local.push_back(view.Get(whole));
  }
  for (; axis < shape.size(); ++axis)
    if (shape.Get(axis) != 1)
      return {};
  return local;
}

std::vector<int64_t> localShape(const PlanIndex &index, Holding holding) {
  const fb::Tensor &tensor = index.tensor(holding.tensor);
  if (index.boxCount(holding.shard) != 1)
    return {static_cast<int64_t>(index.shardBytes(holding.shard) /
                                 index.elementBytes(holding.tensor))};
  const BoxView box = index.shardBox(holding.shard, 0);
  if (tensor.view())
    if (std::vector<int64_t> grouped = groupAxes(tensor, box); !grouped.empty())
      return grouped;
  std::vector<int64_t> extents;
  for (unsigned axis = 0; axis != box.rank(); ++axis)
    extents.push_back(box[axis].size());
  return extents;
}

uint64_t volumeOf(const int64_t *shape, uint32_t axes) {
  uint64_t volume = 1;
  for (uint32_t axis = 0; axis != axes; ++axis)
    volume *= static_cast<uint64_t>(shape[axis]);
  return volume;
}

bool isDense(const etc_tensor &tensor) {
  int64_t stride = 1;
  for (uint32_t axis = tensor.axes; axis-- > 0;) {
    if (tensor.shape[axis] != 1 && tensor.strides[axis] != stride)
      return false;
    stride *= tensor.shape[axis];
  }
  return true;
}

bool hasShape(const etc_tensor &tensor, const etc_tensor_info &expected) {
  if (std::equal(tensor.shape, tensor.shape + tensor.axes, expected.shape,
                 expected.shape + expected.axes))
    return true;
  const uint64_t volume = volumeOf(expected.shape, expected.axes);
  return tensor.axes <= 1 && volumeOf(tensor.shape, tensor.axes) == volume;
}

} // namespace

etc_tensor_info etc::runtime::describe(const PlanIndex &index, Side side,
                                       Holding holding) {
  const fb::Tensor &tensor = index.tensor(holding.tensor);
  etc_tensor_info info{};
  info.struct_size = sizeof info;
  info.dtype = static_cast<etc_dtype>(tensor.dtype());
  info.type = tensor.type()->c_str();
  info.name = tensor.name()->c_str();
  info.bytes = index.shardBytes(holding.shard);
  info.box_count = index.boxCount(holding.shard);
  const std::vector<int64_t> local = localShape(index, holding);
  info.axes = static_cast<uint32_t>(local.size());
  std::copy(local.begin(), local.end(), info.shape);
  const auto &global = side == Side::Prev && tensor.prev_shape()
                           ? *tensor.prev_shape()
                           : *tensor.shape();
  info.planning_axes = global.size();
  info.deferred = tensor.deferred();
  std::copy(global.begin(), global.end(), info.planning_shape);
  return info;
}

std::string etc::runtime::describeShape(const int64_t *shape, uint32_t axes) {
  std::string result = "[";
  for (uint32_t axis = 0; axis != axes; ++axis)
    result += text(axis ? ", " : "", shape[axis]);
  return result + "]";
}

const char *etc::runtime::dtypeName(etc_dtype dtype) {
  const auto value = static_cast<fb::DType>(dtype);
  return value >= fb::DType::MIN && value <= fb::DType::MAX
             ? fb::EnumNameDType(value)
             : "an unknown dtype";
}

Status etc::runtime::checkTensor(const etc_tensor &tensor,
                                 const etc_tensor_info &expected) {
  auto refuse = [&](const std::string &what) {
    return Status(ErrorKind::Usage,
                  text(expected.name, " (", expected.type, "): ", what));
  };
  if (tensor.axes > ETC_MAX_AXES)
    return refuse(text("has ", tensor.axes, " axes, at most ", ETC_MAX_AXES,
                       " are possible"));
  if (tensor.dtype != expected.dtype)
    return refuse(text("is ", dtypeName(tensor.dtype), ", the plan has ",
                       dtypeName(expected.dtype)));
  if (!hasShape(tensor, expected))
    return refuse(text("has shape ", describeShape(tensor.shape, tensor.axes),
                       ", the plan gives this device ",
                       describeShape(expected.shape, expected.axes)));
  if (!isDense(tensor))
    return refuse(text("is not contiguous: strides ",
                       describeShape(tensor.strides, tensor.axes),
                       "; hand over a contiguous copy"));
  if (!tensor.data && expected.bytes > 0)
    return refuse("has no memory");
  return Status::success();
}
