#include "core/plan/Unfold.h"

#include "core/plan/BoxTable.h"
#include "core/plan/Configuration.h"
#include "core/plan/PlanFile.h"
#include "core/plan/TensorSize.h"

#include <algorithm>
#include <map>
#include <unordered_map>

using namespace etc;
using namespace etc::plan;

namespace {

/// Writes the other lanes out, in the plan of the first.
class Unfolder {
public:
  /// `plan` is unpacked from `stated`.
  Unfolder(const fb::Plan &stated, fb::PlanT &plan)
      : stated(stated), plan(plan), lanes(*plan.lanes),
        count(plan.lanes->count), boxes(plan.bounds) {}

  void run();
  /// Of a plan whose programs hold and do nothing.
  void runOutline();

private:
  bool isShared(uint32_t tensor) const { return lanes.axes[tensor] < 0; }
  uint32_t shift(uint32_t box, uint32_t tensor, uint32_t lane);
  uint32_t shiftAnew(uint32_t box, uint32_t tensor);
  void nameShifts();
  void unfoldShards();
  void unfoldPrograms();
  std::unique_ptr<fb::ProgramT> programOf(const fb::ProgramT &first,
                                          uint32_t lane);
  void unfoldTensors();
  void unfoldWorld();
  void unfoldCertificates();
  void unfoldBound(std::unique_ptr<fb::TimeBoundT> &bound) const;
  void unfoldSummary();

  /// Each device, rank or part of a list in all lanes.
  std::vector<uint32_t> repeat(const std::vector<uint32_t> &list) const;
  std::vector<uint64_t> repeat(const std::vector<uint64_t> &duals,
                               uint64_t inRow) const;

  const fb::Plan &stated;
  fb::PlanT &plan;
  const fb::LanesT &lanes;
  const uint32_t count;
  BoxTable boxes;
  std::vector<uint32_t>
      shiftOf; ///< [tensor] equal where lanes are as far apart
  std::unordered_map<uint64_t, uint32_t>
      known;                      ///< (shift, box): its place here:
  std::vector<uint32_t> shifted;  ///< offsets in all lanes
  std::vector<uint32_t> shardsOf; ///< [shard * count + lane]
};

} // namespace

std::vector<uint32_t>
Unfolder::repeat(const std::vector<uint32_t> &list) const {
  std::vector<uint32_t> all;
  all.reserve(list.size() * count);
  for (uint32_t entry : list)
    for (uint32_t lane = 0; lane != count; ++lane)
      all.push_back(entry * count + lane);
  return all;
}

/// A run of duals is that of a slot, whose lanes are slots of their own.
std::vector<uint64_t> Unfolder::repeat(const std::vector<uint64_t> &duals,
                                       uint64_t inRow) const {
  std::vector<uint64_t> all;
  all.reserve(duals.size() * count);
  for (size_t first = 0; first < duals.size(); first += inRow) {
    const auto begin = duals.begin() + first,
               end = begin + std::min<size_t>(inRow, duals.size() - first);
    for (uint32_t lane = 0; lane != count; ++lane)
      all.insert(all.end(), begin, end);
  }
  return all;
}

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

void Unfolder::nameShifts() {
  std::map<std::tuple<size_t, int, int64_t>, uint32_t> numbers;
  for (uint32_t t = 0; t != plan.tensors.size(); ++t) {
    const std::vector<int64_t> &shape = plan.tensors[t]->shape;
    const int8_t axis = lanes.axes[t];
    const std::tuple key(shape.size(), axis, axis < 0 ? 0 : shape[axis]);
    shiftOf.push_back(numbers.try_emplace(key, numbers.size()).first->second);
  }
}

/// Finds a box of the first lane in all of them.
uint32_t Unfolder::shiftAnew(uint32_t offset, uint32_t tensor) {
  const std::vector<int64_t> &shape = plan.tensors[tensor]->shape;
  const int8_t axis = lanes.axes[tensor];
  Box box(BoxView::ofBounds(plan.bounds.data() + offset,
                            static_cast<unsigned>(shape.size())));
  const auto first = static_cast<uint32_t>(shifted.size());
  shifted.push_back(offset);
  for (uint32_t lane = 1; lane != count; ++lane) {
    box[axis] = box[axis].shifted(shape[axis]);
    shifted.push_back(boxes.add(box));
  }
  return first;
}

uint32_t Unfolder::shift(uint32_t box, uint32_t tensor, uint32_t lane) {
  if (lane == 0 || isShared(tensor))
    return box;
  auto [it, isNew] = known.try_emplace(uint64_t{shiftOf[tensor]} << 32 | box);
  if (isNew)
    it->second = shiftAnew(box, tensor);
  return shifted[it->second + lane];
}

/// Shards of the first lane stay where they are.
void Unfolder::unfoldShards() {
  const size_t shards = plan.shards.size();
  for (uint32_t s = 0; s != shards; ++s) {
    const fb::Shard first = plan.shards[s];
    for (uint32_t lane = 0; lane != count; ++lane) {
      if (lane == 0 || isShared(first.tensor())) {
        shardsOf.push_back(s);
        continue;
      }
      shardsOf.push_back(plan.shards.size());
      plan.shards.emplace_back(first.tensor(), plan.boxes.size(),
                               first.box_count());
      for (uint32_t b = 0; b != first.box_count(); ++b)
        plan.boxes.push_back(
            shift(plan.boxes[first.first_box() + b], first.tensor(), lane));
    }
  }
}

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

std::unique_ptr<fb::ProgramT> Unfolder::programOf(const fb::ProgramT &first,
                                                  uint32_t lane) {
  auto program = std::make_unique<fb::ProgramT>(first);
  auto inLane = [&](std::vector<uint32_t> &devices) {
    for (uint32_t &device : devices)
      device = device * count + lane;
  };
  inLane(program->devices);
  for (const auto &peers : program->peers)
    inLane(peers->devices);
  for (auto *role : {program->curr_role.get(), program->prev_role.get()})
    if (role)
      role->mutate_slot(role->slot() * count + lane);
  for (auto *shards :
       {&program->prev_shards, &program->curr_shards, &program->transit_shards})
    for (uint32_t &shard : *shards)
      shard = shardsOf[uint64_t{shard} * count + lane];
  for (const auto &round : program->rounds)
    for (fb::Op &op : round->ops)
      if (op.kind() != fb::OpKind::release)
        op.mutate_box(shift(op.box(), op.tensor(), lane));
  return program;
}

void Unfolder::unfoldPrograms() {
  std::vector<std::unique_ptr<fb::ProgramT>> programs;
  programs.reserve(plan.programs.size() * count);
  for (std::unique_ptr<fb::ProgramT> &first : plan.programs) {
    for (uint32_t lane = 0; lane != count; ++lane)
      programs.push_back(programOf(*first, lane));
    first.reset();
  }
  plan.programs = std::move(programs);
}

//===----------------------------------------------------------------------===//
// All else
//===----------------------------------------------------------------------===//

void Unfolder::unfoldTensors() {
  for (uint32_t t = 0; t != plan.tensors.size(); ++t) {
    if (isShared(t))
      continue;
    fb::TensorT &tensor = *plan.tensors[t];
    tensor.shape[lanes.axes[t]] *= count;
    if (lanes.view_axes[t] >= 0)
      tensor.view[lanes.view_axes[t]] *= count;
  }
}

void Unfolder::unfoldWorld() {
  for (fb::ConfigurationT *side : {plan.prev.get(), plan.curr.get()}) {
    side->tp = count;
    side->etp = count;
  }
  for (uint32_t &size : plan.nodes)
    size *= count;
  for (auto *list : {&plan.participants, &plan.prev_placement,
                     &plan.curr_placement, &plan.barred})
    *list = repeat(*list);
  plan.vocab = lanes.vocab;
}

/// Columns of nodes are the same: a node has all lanes of its devices.
void Unfolder::unfoldCertificates() {
  for (const auto &certificate : plan.certificates) {
    certificate->row_duals =
        repeat(certificate->row_duals, rolesOfSlot(*stated.curr()));
    if (certificate->quantity == fb::Quantity::moved_bytes) {
      certificate->column_duals =
          repeat(certificate->column_duals, rolesOfSlot(*stated.prev()));
      certificate->bound *= count;
    } else {
      certificate->bound = lanes.internode_bound;
    }
  }
}

/// The bytes and the rate are those of all lanes already.
void Unfolder::unfoldBound(std::unique_ptr<fb::TimeBoundT> &bound) const {
  if (!bound)
    return;
  bound->devices = repeat(bound->devices);
  bound->inner = repeat(bound->inner);
}

/// What one device sends, receives or holds is the same in all lanes.
void Unfolder::unfoldSummary() {
  fb::SummaryT &summary = *plan.summary;
  for (uint64_t *bytes :
       {&summary.moved_bytes, &summary.kept_bytes, &summary.zeroed_bytes,
        &summary.derived_bytes, &summary.internode_bytes,
        &summary.transit_bytes, &summary.bound_moved_bytes})
    *bytes = mulBytes(*bytes, count);
  summary.bound_internode_bytes = lanes.internode_bound;
  for (fb::RoundForecast &round : plan.forecast)
    round.mutate_moved_bytes(mulBytes(round.moved_bytes(), count));
}

void Unfolder::run() {
  nameShifts();
  unfoldShards();
  runOutline();
}

void Unfolder::runOutline() {
  unfoldBound(plan.time_bound);
  unfoldBound(plan.pause_bound);
  unfoldPrograms();
  unfoldCertificates();
  unfoldSummary();
  unfoldWorld();
  unfoldTensors(); // last: the steps of boxes are the extents of lanes
}

static void dropLanes(fb::PlanT &plan) {
  plan.lanes.reset();
  plan.features &= ~kLanesFeature;
}

fb::PlanT etc::plan::unfoldPlan(const fb::Plan &plan) {
  fb::PlanT unfolded;
  plan.UnPackTo(&unfolded);
  Unfolder(plan, unfolded).run();
  dropLanes(unfolded);
  return unfolded;
}

fb::PlanT etc::plan::unfoldOutline(const fb::Plan &plan) {
  fb::PlanT unfolded;
  plan.UnPackTo(&unfolded);
  unfolded.shards.clear();
  unfolded.boxes.clear();
  unfolded.bounds.clear();
  for (const auto &program : unfolded.programs) {
    program->rounds.clear();
    for (auto *shards : {&program->prev_shards, &program->curr_shards,
                         &program->transit_shards})
      shards->clear();
  }
  Unfolder(plan, unfolded).runOutline();
  dropLanes(unfolded);
  return unfolded;
}
