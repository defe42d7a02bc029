//===- Lanes.cpp - One plan for all ranks of a group ----------------------===//

#include "etc/Planner/Lanes.h"

#include "core/plan/PlanFile.h"
#include "core/plan/Unfold.h"
#include "core/plan/UnfoldSections.h"
#include "core/proof/PlanCertificates.h"
#include "etc/Export/Export.h"
#include "etc/Model/Model.h"
#include "etc/Request/States.h"
#include "etc/Verify/Boundaries.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace etc;
using namespace mlir;
using model::TensorTemplate;
using request::Parallelism;
using request::Request;
namespace fb = etc::plan::fb;

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

/// The groups that a list of devices has whole, or nothing if it has parts of
/// some. Ascending.
static std::optional<std::vector<int64_t>> groupsOf(ArrayRef<int64_t> devices,
                                                    int64_t count) {
  std::vector<int64_t> groups;
  for (auto [i, device] : llvm::enumerate(devices)) {
    const int64_t lane = static_cast<int64_t>(i) % count;
    if (lane == 0)
      groups.push_back(device / count);
    if (device != groups.back() * count + lane)
      return std::nullopt;
  }
  if (devices.size() % count)
    return std::nullopt;
  return groups;
}

/// Whether groups are within nodes, and each device has a NIC.
static bool haveGroups(const Request &request, int64_t count) {
  return llvm::all_of(request.nodes, [&](int64_t devices) {
    return devices % count == 0 && request.rates.nics >= devices;
  });
}

static bool divide(std::vector<int64_t> &devices, int64_t count) {
  std::optional<std::vector<int64_t>> groups = groupsOf(devices, count);
  if (groups)
    devices = std::move(*groups);
  return groups.has_value();
}

/// Ranks are on the devices of whole groups, in order.
static bool divide(request::SideSpec &side, int64_t count) {
  side.parallel.tp = 1;
  side.parallel.etp = 0;
  side.planned.reset();
  side.plannedModel.clear();
  side.model.reset();
  return !side.devices || divide(*side.devices, count);
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

static int64_t sizeBehind(ArrayRef<int64_t> shape, size_t axis) {
  int64_t size = 1;
  for (int64_t extent : shape.drop_front(axis + 1))
    size *= extent;
  return size;
}

/// The axis of a view in which the split axis lies; -1 if it is in several.
static int viewAxis(const TensorTemplate &tensor) {
  const int64_t inner = sizeBehind(tensor.shape, tensor.splitAxis),
                outer = inner * tensor.shape[tensor.splitAxis];
  for (size_t axis = 0; axis != tensor.view.size(); ++axis) {
    const int64_t behind = sizeBehind(tensor.view, axis);
    if (behind <= inner && behind * tensor.view[axis] >= outer)
      return static_cast<int>(axis);
  }
  return -1;
}

static StringRef blockName(model::Block block) {
  switch (block) {
  case model::Block::Embed:
    return "embed";
  case model::Block::Layer:
    return "layer";
  case model::Block::Final:
    return "final";
  case model::Block::Head:
    return "head";
  case model::Block::Mtp:
    return "mtp";
  }
  llvm_unreachable("unknown block");
}

/// What a lane has of a tensor. The padding of a vocabulary is the same on both
/// sides, and content like the rest.
static std::optional<request::TensorSpec> rowOf(const TensorTemplate &tensor,
                                                const Parallelism &parallel) {
  request::TensorSpec row;
  row.name = tensor.name;
  row.block = blockName(tensor.block);
  row.shape = model::shapeOn(tensor, parallel);
  row.split = tensor.splitAxis;
  row.vocabRows = tensor.vocabRows;
  row.tiedTo = tensor.tiedTo;
  row.layers = tensor.layers;
  row.view = tensor.view;
  const int64_t count = parallel.tp;
  if (row.split < 0)
    return tensor.vocabRows ? std::nullopt : std::optional(row);
  if (row.shape[row.split] % count || (tensor.vocabRows && row.split != 0))
    return std::nullopt;
  row.shape[row.split] /= count;
  if (row.view.empty())
    return row;
  const int axis = viewAxis(tensor);
  if (axis < 0 || tensor.vocabRows || row.view[axis] % count)
    return std::nullopt;
  row.view[axis] /= count;
  return row;
}

/// Tensors with types of their own are no parameters; no lane has them.
static bool divide(request::ModelSpec &spec, const Parallelism &parallel) {
  const std::string first = request::typeNames(spec).front().str();
  const model::Model whole = model::buildModel(spec, {first}, true);
  std::vector<request::TensorSpec> rows;
  for (const TensorTemplate &tensor : whole.tensors) {
    std::optional<request::TensorSpec> row = rowOf(tensor, parallel);
    const bool isParameter =
        tensor.types.empty() || tensor.types == std::vector{first};
    if (!row || !isParameter)
      return false;
    rows.push_back(std::move(*row));
  }
  spec.family = "table";
  spec.tensors = std::move(rows);
  spec.vocabMultiple = 1;
  return true;
}

//===----------------------------------------------------------------------===//
// Requests
//===----------------------------------------------------------------------===//

static bool hasLanes(const Request &request, int64_t lanesFrom) {
  const Parallelism &prev = request.prev.parallel,
                    &curr = request.curr.parallel;
  return request.policy == "best" && !request.prev.inventory &&
         !request.curr.inventory && prev.tp > 1 && prev.tp == curr.tp &&
         prev.expertTp() == prev.tp && curr.expertTp() == curr.tp &&
         (prev.hasRanges() || curr.hasRanges()) &&
         std::max(prev.world(), curr.world()) >= lanesFrom &&
         haveGroups(request, prev.tp);
}

std::optional<Request> etc::laneOf(const Request &request, int64_t lanesFrom) {
  if (!hasLanes(request, lanesFrom))
    return std::nullopt;
  const Parallelism parallel = request.prev.parallel;
  Request lane = request;
  for (int64_t &devices : lane.nodes)
    devices /= parallel.tp;
  if (!divide(lane.prev, parallel.tp) || !divide(lane.curr, parallel.tp) ||
      !divide(lane.failed, parallel.tp) ||
      !divide(lane.draining, parallel.tp) || !divide(lane.model, parallel))
    return std::nullopt;
  return lane;
}

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

/// Where lanes follow each other in each tensor of a plan.
static void stateAxes(const Request &all, const fb::PlanT &plan,
                      fb::LanesT &lanes) {
  const model::Model whole =
      model::buildModel(all.model, all.types,
                        all.prev.parallel.distributedOptimizer ||
                            all.curr.parallel.distributedOptimizer);
  llvm::StringMap<const TensorTemplate *> templates;
  for (const TensorTemplate &tensor : whole.tensors)
    for (const model::StateType &type : whole.types)
      if (whole.isOf(tensor, type.name))
        model::forInstances(tensor, whole, [&](int64_t layer, int64_t expert) {
          templates[model::tensorName(tensor, layer, expert) + " " +
                    type.name] = &tensor;
        });
  for (const auto &tensor : plan.tensors) {
    const TensorTemplate *entry =
        templates.lookup(tensor->name + " " + tensor->type);
    const bool isSplit = entry && entry->splitAxis >= 0;
    lanes.axes.push_back(isSplit ? entry->splitAxis : -1);
    lanes.view_axes.push_back(
        isSplit && !tensor->view.empty() ? viewAxis(*entry) : -1);
  }
  lanes.vocab = model::vocabOf(whole);
}

/// Lanes have as many times the links and NICs.
static void stateBounds(std::vector<uint8_t> &bytes, uint64_t count) {
  fb::Plan &plan = *fb::GetMutablePlan(bytes.data());
  const plan::PlanIndex index(plan);
  for (fb::TimeBound *bound :
       {plan.mutable_time_bound(), plan.mutable_pause_bound()}) {
    if (!bound)
      continue;
    const bool ofPause = bound == plan.mutable_pause_bound();
    bound->mutate_bytes(crossingBytes(index, *bound, ofPause));
    bound->mutate_rate(bound->rate() * count);
  }
  [[maybe_unused]] const plan::Status sealed = plan::sealPlan(bytes);
  assert(sealed.ok());
}

/// The plan of a lane, with what says of it that it is one.
static std::vector<uint8_t> stateLanes(ArrayRef<uint8_t> bytes,
                                       const Request &all) {
  fb::PlanT plan;
  fb::GetPlan(bytes.data())->UnPackTo(&plan);
  plan.lanes = std::make_unique<fb::LanesT>();
  plan.lanes->count = static_cast<uint32_t>(all.prev.parallel.tp);
  stateAxes(all, plan, *plan.lanes);
  plan.features |= plan::kLanesFeature;
  plan.role_bound.reset();
  plan.summary->paper_policy.reset();
  plan.lanes->internode_bound = boundOfLanes(plan, *fb::GetPlan(bytes.data()));
  const uint64_t count = plan.lanes->count;
  std::vector<uint8_t> packed = plan::packPlan(std::move(plan));
  stateBounds(packed, count);
  return packed;
}

LogicalResult etc::stateLanes(PlannedRequest &planned, const Request &lane,
                              const Request &all) {
  planned.times.clear(); // of a lane
  for (auto [bytes, migration] :
       llvm::zip_equal(planned.plans, planned.module->getOps<MigrationOp>())) {
    bytes = ::stateLanes(bytes, all);
    migration->setDiscardableAttr(lanesMark,
                                  Builder(migration.getContext())
                                      .getI64IntegerAttr(all.prev.parallel.tp));
    if (failed(verifyLanes(migration, *fb::GetPlan(bytes.data()), lane, all)))
      return failure();
  }
  return success();
}

void etc::unfoldLanes(PlannedRequest &planned) {
  for (std::vector<uint8_t> &bytes : planned.plans) {
    if (const fb::Plan &plan = *fb::GetPlan(bytes.data()); plan.lanes())
      bytes = plan::packPlan(plan::unfoldPlan(plan));
    if (const fb::Plan &plan = *fb::GetPlan(bytes.data()); plan.sections())
      bytes = plan::packPlan(plan::unfoldSections(plan));
  }
}
