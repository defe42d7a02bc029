// Which plans of one lane can be unfolded.

#include "core/plan/FormatRules.h"
#include "core/plan/Unfold.h"

#include <algorithm>

using namespace etc::plan;

/// No tensor-parallel group is larger.
constexpr uint32_t kMostLanes = 4096;
/// Bytes of a plan that a byte of its file may state, and the most of any file.
constexpr uint64_t kMostPerByte = 8192,
                   kMostBytes = FLATBUFFERS_MAX_BUFFER_SIZE / 2;

/// An axis of a shape, or -1.
static Status checkAxis(const std::string &path, int8_t axis,
                        const Longs *shape) {
  const int rank = shape ? static_cast<int>(shape->size()) : 0;
  return axis >= -1 && axis < rank
             ? Status::success()
             : malformed(path, ": ", int(axis), " is not in [-1, ", rank, ")");
}

/// Tied copies and casts have the boxes of their sources.
static Status checkSources(const fb::Plan &plan, uint32_t t) {
  const fb::Tensor &tensor = *plan.tensors()->Get(t);
  const auto &axes = *plan.lanes()->axes();
  for (int32_t source : {tensor.tied_to(), tensor.derived_from()})
    if (source >= 0 && axes[source] != axes[t])
      return malformed(item("lanes.axes", t), ": ", int(axes[t]),
                       ", that of tensors[", source, "] is ",
                       int(axes[source]));
  return Status::success();
}

static Status checkAxes(const fb::Plan &plan) {
  const fb::Lanes &lanes = *plan.lanes();
  const uint32_t tensors = plan.tensors()->size();
  for (auto [name, list] : {std::pair("lanes.axes", lanes.axes()),
                            std::pair("lanes.view_axes", lanes.view_axes())})
    if (list->size() != tensors)
      return malformed(name, ": ", list->size(), " entries, there are ",
                       tensors, " tensors");
  for (uint32_t t = 0; t != tensors; ++t) {
    const fb::Tensor &tensor = *plan.tensors()->Get(t);
    const int8_t axis = lanes.axes()->Get(t),
                 inView = lanes.view_axes()->Get(t);
    if (Status s = checkAxis(item("lanes.axes", t), axis, tensor.shape());
        !s.ok())
      return s;
    if (Status s = checkAxis(item("lanes.view_axes", t), inView, tensor.view());
        !s.ok())
      return s;
    if ((inView >= 0) != (axis >= 0 && tensor.view()))
      return malformed(item("lanes.view_axes", t), ": ", int(inView),
                       " does not go with the axis ", int(axis));
    if (axis >= 0 && tensor.prev_shape())
      return malformed(item("tensors", t),
                       ".prev_shape: parts of lanes keep their shape");
    if (Status s = checkSources(plan, t); !s.ok())
      return s;
  }
  return Status::success();
}

/// What stands for one device here stands for `count` in the plan of all.
static Status checkSides(const fb::Plan &plan) {
  for (auto [name, side] :
       {std::pair("prev", plan.prev()), std::pair("curr", plan.curr())})
    if (side->tp() != 1 || side->etp() != 1 || side->inventory())
      return malformed(
          name, ": of lanes, a configuration without tensor parallelism");
  if (plan.slice())
    return malformed("lanes: a slice has none");
  if (plan.role_bound() || plan.summary()->paper_policy())
    return malformed("lanes: role_bound and paper_policy are of all lanes");
  return Status::success();
}

Status etc::plan::checkLanes(const fb::Plan &plan, uint64_t planBytes,
                             uint64_t fileBytes) {
  const uint32_t count = plan.lanes()->count();
  if (count < 2 || count > kMostLanes)
    return malformed("lanes.count: ", count, " is not in [2, ", kMostLanes,
                     "]");
  uint64_t devices = 0;
  for (uint32_t size : *plan.nodes())
    devices += size;
  if (mulBytes(devices, count) > kMostDevices)
    return malformed("lanes.count: ", count, " x ", devices,
                     " devices, the most are ", kMostDevices);
  const uint64_t most = std::min(mulBytes(fileBytes, kMostPerByte), kMostBytes);
  if (mulBytes(planBytes, count) > most)
    return malformed("lanes: states more than ", most,
                     " bytes of tables, which is the most for this file");
  if (Status s = checkSides(plan); !s.ok())
    return s;
  return checkAxes(plan);
}
