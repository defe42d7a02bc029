#include "plan/Slice.h"

#include "plan/PlanFile.h"

#include <cassert>
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
  uint32_t addBox(BoxView box);
  fb::Op copyOp(const fb::Op &op);
  std::unique_ptr<fb::ProgramT> copyProgram();

  const PlanIndex &index;
  const Participant participant;
  const fb::Program &program;
  std::map<uint32_t, uint32_t> tensors; // numbers here, by those in the plan
  std::map<std::vector<int64_t>, uint32_t> boxes; // offsets in bounds
  fb::PlanT slice;
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

uint32_t Slicer::addBox(BoxView box) {
  std::vector<int64_t> bounds;
  for (Span span : box)
    bounds.insert(bounds.end(), {span.begin, span.end});
  auto [entry, isNew] = boxes.try_emplace(bounds, slice.bounds.size());
  if (isNew)
    slice.bounds.insert(slice.bounds.end(), bounds.begin(), bounds.end());
  return entry->second;
}

void Slicer::addShards(const flatbuffers::Vector<uint32_t> &from,
                       std::vector<uint32_t> &to) {
  for (uint32_t shard : from) {
    to.push_back(slice.shards.size());
    slice.shards.emplace_back(
        tensors.at(index.plan().shards()->Get(shard)->tensor()),
        slice.boxes.size(), index.boxCount(shard));
    for (uint32_t box = 0; box != index.boxCount(shard); ++box)
      slice.boxes.push_back(addBox(index.shardBox(shard, box)));
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
          hasBox ? addBox(index.opBox(op)) : 0};
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

namespace {

/// Packs a plan with each name, type and shape once. Tensors are most of a
/// slice, and those of one parameter differ in little.
class Packer {
public:
  explicit Packer(const fb::PlanT &plan) : plan(plan) {}

  std::vector<uint8_t> run();

private:
  using Shape = flatbuffers::Offset<flatbuffers::Vector<int64_t>>;
  Shape addShape(const std::vector<int64_t> &shape);
  flatbuffers::Offset<fb::Tensor> addTensor(const fb::TensorT &tensor);

  const fb::PlanT &plan;
  flatbuffers::FlatBufferBuilder builder;
  std::map<std::vector<int64_t>, Shape> shapes;
};

} // namespace

/// An empty shape is an absent one.
Packer::Shape Packer::addShape(const std::vector<int64_t> &shape) {
  if (shape.empty())
    return 0;
  auto [entry, isNew] = shapes.try_emplace(shape);
  if (isNew)
    entry->second = builder.CreateVector(shape);
  return entry->second;
}

flatbuffers::Offset<fb::Tensor> Packer::addTensor(const fb::TensorT &tensor) {
  const auto name = builder.CreateSharedString(tensor.name),
             type = builder.CreateSharedString(tensor.type);
  const Shape shape = addShape(tensor.shape), view = addShape(tensor.view),
              prevShape = addShape(tensor.prev_shape);
  return fb::CreateTensor(builder, name, type, tensor.dtype, shape, view,
                          prevShape, tensor.tied_to, tensor.derived_from,
                          tensor.pattern, tensor.is_derived, tensor.deferred);
}

std::vector<uint8_t> Packer::run() {
  std::vector<flatbuffers::Offset<fb::Tensor>> tensors;
  for (const auto &tensor : plan.tensors)
    tensors.push_back(addTensor(*tensor));
  const std::vector<uint32_t> none;
  const auto model = builder.CreateString(plan.model);
  const auto prev = fb::CreateConfiguration(builder, plan.prev.get()),
             curr = fb::CreateConfiguration(builder, plan.curr.get());
  const auto empty = builder.CreateVector(none),
             boxes = builder.CreateVector(plan.boxes);
  const auto tensorList = builder.CreateVector(tensors);
  const auto shards = builder.CreateVectorOfStructs(plan.shards);
  const auto bounds = builder.CreateVector(plan.bounds);
  const std::vector programs = {
      fb::CreateProgram(builder, plan.programs.front().get())};
  const auto programList = builder.CreateVector(programs);
  const auto forecast = builder.CreateVectorOfStructs(plan.forecast);
  const auto summary = fb::CreateSummary(builder, plan.summary.get());
  const auto slice = fb::CreateSlice(builder, plan.slice.get());
  builder.Finish(fb::CreatePlan(builder, plan.version, plan.features,
                                /*hash=*/~uint64_t{0}, model, prev, curr, empty,
                                empty, empty, empty, tensorList, shards, boxes,
                                bounds, programList, forecast, summary,
                                plan.vocab, /*barred=*/0,
                                /*certificates=*/0, /*patterns=*/0, slice,
                                /*resources=*/0, /*time_bound=*/0,
                                plan.deferred_rounds, plan.gradient_bytes),
                 fb::PlanIdentifier());
  std::vector<uint8_t> bytes(builder.GetBufferPointer(),
                             builder.GetBufferPointer() + builder.GetSize());
  [[maybe_unused]] Status sealed = sealPlan(bytes);
  assert(sealed.ok());
  return bytes;
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
  return Packer(plan).run();
}
