#include "core/plan/Slice.h"

#include "core/plan/BoxTable.h"
#include "core/plan/Condense.h"
#include "core/plan/PlanFile.h"

#include <map>
#include <set>

using namespace etc;
using namespace etc::plan;

namespace {

/// Copies what one program names into a plan of its own.
class Slicer {
public:
  Slicer(const PlanIndex &index, uint32_t rank)
      : index(index), participant(index.participant(rank)),
        program(index.program(participant.program)) {}

  fb::PlanT run();

private:
  void numberTensors();
  void addTensors();
  void addShards(const flatbuffers::Vector<uint32_t> &from,
                 std::vector<uint32_t> &to);
  void addRounds(fb::ProgramT &to);
  fb::Op copyOp(const fb::Op &op);
  std::unique_ptr<fb::ProgramT> copyProgram();

  const PlanIndex &index;
  const Participant participant;
  const fb::Program &program;
  std::map<uint32_t, uint32_t> tensors; // numbers here, by those in the plan
  fb::PlanT slice;
  BoxTable boxes{slice.bounds};
};

} // namespace

void Slicer::numberTensors() {
  std::set<uint32_t> named;
  for (Side side : {Side::Prev, Side::Curr, Side::Transit})
    for (Holding holding : index.holdings(participant.program, side))
      named.insert(holding.tensor);
  for (const fb::Round *round : *program.rounds())
    for (const fb::Op *op : *round->ops())
      named.insert({op->tensor(), op->source()});
  // What these are copies or casts of.
  std::vector<uint32_t> open(named.begin(), named.end());
  while (!open.empty()) {
    const fb::Tensor &tensor = index.tensor(open.back());
    open.pop_back();
    for (int32_t other : {tensor.tied_to(), tensor.derived_from()})
      if (other >= 0 && named.insert(other).second)
        open.push_back(other);
  }
  for (uint32_t tensor : named)
    tensors.emplace(tensor, static_cast<uint32_t>(tensors.size()));
}

void Slicer::addTensors() {
  auto numberOf = [&](int32_t tensor) {
    return tensor < 0 ? -1 : static_cast<int32_t>(tensors.at(tensor));
  };
  for (auto [tensor, number] : tensors) {
    std::unique_ptr<fb::TensorT> copy(index.tensor(tensor).UnPack());
    copy->tied_to = numberOf(copy->tied_to);
    copy->derived_from = numberOf(copy->derived_from);
    copy->pattern = -1;
    slice.tensors.push_back(std::move(copy));
  }
}

void Slicer::addShards(const flatbuffers::Vector<uint32_t> &from,
                       std::vector<uint32_t> &to) {
  for (uint32_t shard : from) {
    to.push_back(slice.shards.size());
    slice.shards.emplace_back(
        tensors.at(index.plan().shards()->Get(shard)->tensor()),
        slice.boxes.size(), index.boxCount(shard));
    for (uint32_t box = 0; box != index.boxCount(shard); ++box)
      slice.boxes.push_back(boxes.add(index.shardBox(shard, box)));
  }
}

fb::Op Slicer::copyOp(const fb::Op &op) {
  const bool hasBox = op.kind() != fb::OpKind::release;
  return {op.kind(),
          op.from_curr(),
          op.transit(),
          op.peer(),
          tensors.at(op.tensor()),
          tensors.at(op.source()),
          hasBox ? boxes.add(index.opBox(op)) : 0};
}

void Slicer::addRounds(fb::ProgramT &to) {
  for (const fb::Round *round : *program.rounds()) {
    auto copy = std::make_unique<fb::RoundT>();
    for (const fb::Op *op : *round->ops())
      copy->ops.push_back(copyOp(*op));
    to.rounds.push_back(std::move(copy));
  }
}

std::unique_ptr<fb::ProgramT> Slicer::copyProgram() {
  auto copy = std::make_unique<fb::ProgramT>();
  if (program.curr_role())
    copy->curr_role = std::make_unique<fb::Role>(*program.curr_role());
  if (program.prev_role())
    copy->prev_role = std::make_unique<fb::Role>(*program.prev_role());
  copy->devices = {program.devices()->Get(participant.replica)};
  for (const fb::Peers *slot : *program.peers()) {
    auto peers = std::make_unique<fb::PeersT>();
    peers->devices = {slot->devices()->Get(participant.replica)};
    copy->peers.push_back(std::move(peers));
  }
  copy->send_slab = program.send_slab();
  copy->recv_slab = program.recv_slab();
  copy->peak = program.peak();
  copy->peak_safe = program.peak_safe();
  copy->tail_peak = program.tail_peak();
  copy->tail_peak_safe = program.tail_peak_safe();
  addShards(*program.prev_shards(), copy->prev_shards);
  addShards(*program.curr_shards(), copy->curr_shards);
  if (program.transit_shards())
    addShards(*program.transit_shards(), copy->transit_shards);
  addRounds(*copy);
  return copy;
}

fb::PlanT Slicer::run() {
  const fb::Plan &plan = index.plan();
  slice.features = kSliceFeature | (plan.features() & kTransitFeature);
  slice.model = plan.model()->str();
  slice.prev.reset(plan.prev()->UnPack());
  slice.curr.reset(plan.curr()->UnPack());
  slice.summary.reset(plan.summary()->UnPack());
  slice.vocab = plan.vocab();
  slice.deferred_rounds = plan.deferred_rounds();
  slice.gradient_bytes = plan.gradient_bytes();
  for (const fb::RoundForecast *round : *plan.forecast())
    slice.forecast.push_back(*round);
  numberTensors();
  addTensors();
  slice.programs.push_back(copyProgram());
  return std::move(slice);
}

std::vector<uint8_t> etc::plan::slicePlan(const PlanIndex &index,
                                          const FingerprintTree &tree,
                                          uint32_t rank) {
  fb::PlanT plan = Slicer(index, rank).run();
  auto proof = std::make_unique<fb::SliceT>();
  proof->rank = rank;
  proof->participants = toSpans(index.participants());
  proof->nodes = toRuns(index.nodes());
  proof->rest = tree.rest();
  proof->path = tree.path(rank);
  proof->fingerprint = tree.root();
  plan.slice = std::move(proof);
  return condensePlan(packPlan(std::move(plan)));
}
