//===- CheckLanes.cpp - V18: what is right for a lane is so for all -------===//
//
// The other rules prove the plan of a lane, as that of a request without tensor
// parallelism. This compares that request with the one of all lanes, by what
// lib/Layout says of both: nothing here knows how it was made.
//
//===----------------------------------------------------------------------===//

#include "PartRequest.h"
#include "core/proof/PlanCertificates.h"
#include "etc/Layout/PoolHoldings.h"
#include "etc/Verify/Boundaries.h"

#include "llvm/ADT/StringMap.h"

using namespace etc;
using namespace mlir;
using layout::HeldBox;
using model::TensorTemplate;
using request::Parallelism;
using request::Request;
namespace fb = etc::plan::fb;

namespace {
class LaneChecker {
public:
  LaneChecker(MigrationOp migration, const fb::Plan &plan, const Request &lane,
              const Request &all)
      : comparison(migration, Rule::Lanes, "the plan of a lane", "the request"),
        plan(plan), lane(lane), all(all), count(plan.lanes()->count()),
        ofLane(modelOf(lane)), ofAll(modelOf(all)) {}

  LogicalResult run();

private:
  LogicalResult checkDevices(const Twine &name, ArrayRef<int64_t> groups,
                             ArrayRef<int64_t> devices);
  LogicalResult checkSide(const std::string &name,
                          const request::SideSpec &ofLane,
                          const request::SideSpec &ofAll);
  LogicalResult checkTemplates();
  LogicalResult checkTensor(uint32_t number, const TensorTemplate &entry);
  LogicalResult checkTensors();
  LogicalResult checkHoldings(const std::string &name,
                              const Parallelism &ofLane,
                              const Parallelism &ofAll);
  bool isShifted(ArrayRef<HeldBox> first, ArrayRef<HeldBox> other,
                 int64_t number) const;
  LogicalResult checkBound();

  const Comparison comparison;
  const fb::Plan &plan;
  const Request &lane, &all;
  const int64_t count;
  const model::Model ofLane, ofAll;
  std::vector<int64_t> steps; ///< [template] from lane to lane
};
} // namespace

//===----------------------------------------------------------------------===//
// The request
//===----------------------------------------------------------------------===//

LogicalResult LaneChecker::checkDevices(const Twine &name,
                                        ArrayRef<int64_t> groups,
                                        ArrayRef<int64_t> devices) {
  SmallVector<int64_t> ofGroups;
  for (int64_t group : groups)
    for (int64_t number = 0; number < count; ++number)
      ofGroups.push_back(group * count + number);
  return comparison.lists(name, ofGroups, devices);
}

LogicalResult LaneChecker::checkSide(const std::string &name,
                                     const request::SideSpec &ofLane,
                                     const request::SideSpec &ofAll) {
  Parallelism expected = ofLane.parallel;
  expected.tp *= count;
  expected.etp = ofAll.parallel.etp;
  if (failed(comparison.numbers(name,
                                {{": the configuration apart from lanes",
                                  expected == ofAll.parallel, true},
                                 {".etp", ofLane.parallel.expertTp() * count,
                                  ofAll.parallel.expertTp()},
                                 {".tp", ofLane.parallel.tp, 1},
                                 {".devices given", ofLane.devices.has_value(),
                                  ofAll.devices.has_value()}})))
    return failure();
  if (ofAll.devices &&
      failed(checkDevices(name + ".devices", *ofLane.devices, *ofAll.devices)))
    return failure();
  return checkHoldings(name, ofLane.parallel, ofAll.parallel);
}

//===----------------------------------------------------------------------===//
// Tensors
//===----------------------------------------------------------------------===//

LogicalResult LaneChecker::checkTemplates() {
  if (failed(comparison.numbers(
          "tensors", {{".size", static_cast<int64_t>(ofLane.tensors.size()),
                       static_cast<int64_t>(ofAll.tensors.size())}})))
    return failure();
  for (auto [part, whole] : llvm::zip_equal(ofLane.tensors, ofAll.tensors)) {
    const std::string name = part.name;
    if (failed(comparison.words("a tensor", name, whole.name)) ||
        failed(
            comparison.words(name + ".tied_to", part.tiedTo, whole.tiedTo)) ||
        failed(comparison.numbers(
            name, {{".block", static_cast<int64_t>(part.block),
                    static_cast<int64_t>(whole.block)},
                   {".split", part.splitAxis, whole.splitAxis},
                   {".flat", part.flat, whole.flat},
                   {".types", part.types == whole.types, true},
                   {".layers", part.layers == whole.layers, true},
                   {".of_expert", part.ofExpert, whole.ofExpert}})))
      return failure();
    for (const auto &[side, sideOfAll] :
         {std::pair(&lane.prev, &all.prev), {&lane.curr, &all.curr}}) {
      std::vector<int64_t> shape = model::shapeOn(part, side->parallel);
      if (part.splitAxis >= 0)
        shape[part.splitAxis] *= count;
      if (failed(comparison.lists(name + ".shape", shape,
                                  model::shapeOn(whole, sideOfAll->parallel))))
        return failure();
    }
    steps.push_back(
        part.splitAxis < 0
            ? 0
            : model::shapeOn(part, lane.curr.parallel)[part.splitAxis]);
  }
  return success();
}

/// The shapes of all lanes, as who unfolds the plan finds them.
LogicalResult LaneChecker::checkTensor(uint32_t number,
                                       const TensorTemplate &entry) {
  const fb::Tensor &tensor = *plan.tensors()->Get(number);
  const int8_t axis = plan.lanes()->axes()->Get(number),
               inView = plan.lanes()->view_axes()->Get(number);
  const std::string name = tensor.name()->str();
  if (failed(comparison.numbers(name, {{".lane axis", axis, entry.splitAxis}})))
    return failure();
  SmallVector<int64_t> shape(tensor.shape()->begin(), tensor.shape()->end()),
      view;
  if (axis >= 0)
    shape[axis] *= count;
  if (tensor.view())
    view.assign(tensor.view()->begin(), tensor.view()->end());
  if (inView >= 0)
    view[inView] *= count;
  if (failed(comparison.lists(name + ".shape", shape,
                              model::shapeOn(entry, all.curr.parallel))))
    return failure();
  return comparison.lists(name + ".view", view, entry.view);
}

LogicalResult LaneChecker::checkTensors() {
  llvm::StringMap<const TensorTemplate *> templates;
  for (const TensorTemplate &entry : ofAll.tensors)
    for (const model::StateType &type : ofAll.types)
      if (ofAll.isOf(entry, type.name))
        model::forInstances(entry, ofAll, [&](int64_t layer, int64_t expert) {
          templates[model::tensorName(entry, layer, expert) + " " + type.name] =
              &entry;
        });
  for (uint32_t t = 0; t != plan.tensors()->size(); ++t) {
    const fb::Tensor &tensor = *plan.tensors()->Get(t);
    const TensorTemplate *entry =
        templates.lookup(tensor.name()->str() + " " + tensor.type()->str());
    if (!entry)
      return comparison.words(tensor.name()->str(), "present", "absent");
    if (failed(checkTensor(t, *entry)))
      return failure();
  }
  return comparison.numbers(
      "", {{"vocab", static_cast<int64_t>(plan.lanes()->vocab()),
            model::vocabOf(ofAll)}});
}

//===----------------------------------------------------------------------===//
// Holdings
//===----------------------------------------------------------------------===//

/// Whether a lane holds what the plan's lane holds, `number` parts further on.
bool LaneChecker::isShifted(ArrayRef<HeldBox> first, ArrayRef<HeldBox> other,
                            int64_t number) const {
  if (first.size() != other.size())
    return false;
  for (auto [held, found] : llvm::zip_equal(first, other)) {
    if (held.tensor != found.tensor || held.layer != found.layer ||
        held.expert != found.expert || held.box.rank() != found.box.rank())
      return false;
    const int axis = ofAll.tensors[held.tensor].splitAxis;
    for (unsigned i = 0; i != held.box.rank(); ++i) {
      const int64_t step =
          static_cast<int>(i) == axis ? steps[held.tensor] * number : 0;
      if (!(held.box[i].shifted(step) == found.box[i]))
        return false;
    }
  }
  return true;
}

LogicalResult LaneChecker::checkHoldings(const std::string &name,
                                         const Parallelism &ofLane,
                                         const Parallelism &ofAll) {
  const int64_t slots = ofLane.slots(),
                replicas = ofLane.hasRanges() ? ofLane.replicas() : 1;
  if (failed(comparison.numbers(
          name, {{".slots", slots * count, ofAll.slots()},
                 {".replicas", ofLane.replicas(), ofAll.replicas()}})))
    return failure();
  for (int64_t pool = 0; pool < ofLane.pp * slots; ++pool) {
    const int64_t p = pool / slots, slot = pool % slots;
    const layout::PoolHoldings first(this->ofLane, ofLane, p, slot);
    SmallVector<std::vector<HeldBox>> held;
    for (int64_t d = 0; d < replicas; ++d)
      held.push_back(first.getOwn(d));
    for (int64_t number = 0; number < count; ++number) {
      const layout::PoolHoldings other(this->ofAll, ofAll, p,
                                       slot * count + number);
      bool isSame = isShifted(first.getShared(), other.getShared(), number);
      for (int64_t d = 0; d < replicas && isSame; ++d)
        isSame = isShifted(held[d], other.getOwn(d), number);
      if (!isSame)
        return comparison.words(name + ": what stage " + Twine(p) + " slot " +
                                    Twine(slot * count + number) + " holds",
                                "another part", "its own");
    }
  }
  return success();
}

LogicalResult LaneChecker::checkBound() {
  const plan::Status status = verifyBoundOfLanes(plan::PlanIndex(plan));
  return comparison.words("the bound",
                          status.ok() ? "proved" : status.message(), "proved");
}

LogicalResult LaneChecker::run() {
  if (failed(compareWords(comparison, lane, all)) ||
      failed(checkDevices("failed", lane.failed, all.failed)) ||
      failed(checkDevices("draining", lane.draining, all.draining)))
    return failure();
  SmallVector<int64_t> nodes;
  for (int64_t size : lane.nodes)
    nodes.push_back(size * count);
  if (failed(comparison.lists("nodes", nodes, all.nodes)) ||
      failed(checkTemplates()) || failed(checkTensors()) ||
      failed(checkSide("prev", lane.prev, all.prev)) ||
      failed(checkSide("curr", lane.curr, all.curr)))
    return failure();
  return checkBound();
}

LogicalResult etc::verifyLanes(MigrationOp migration, const fb::Plan &plan,
                               const Request &lane, const Request &all) {
  return LaneChecker(migration, plan, lane, all).run();
}
