//===- Json.cpp - The plan as JSON, the public interchange form -----------===//

#include "core/plan/Configuration.h"
#include "core/plan/TimeBound.h"
#include "etc/Export/PlanText.h"
#include "view/report/SummaryJson.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <numeric>

using namespace etc;
using Json = nlohmann::ordered_json;
namespace fb = etc::plan::fb;

/// Of the JSON form, whose fields keep their meaning; files have their own.
static constexpr int kJsonVersion = 1;

namespace {
class JsonWriter {
public:
  JsonWriter(const fb::Plan &plan,
             const std::optional<std::vector<int64_t>> &devices)
      : plan(plan), index(plan), devices(devices) {
    nameTables();
  }

  Json write() const;

private:
  void nameTables();
  void nameOf(const fb::Program &program);
  Json world() const;
  Json sketch() const;
  Json certificates() const;
  Json tensors() const;
  Json shards() const;
  Json deviceList() const;
  Json device(uint32_t rank) const;
  Json op(const fb::Op &op, uint32_t program, uint32_t replica) const;
  bool isWanted(uint32_t device) const {
    return !devices || std::find(devices->begin(), devices->end(), device) !=
                           devices->end();
  }

  const fb::Plan &plan;
  plan::PlanIndex index;
  const std::optional<std::vector<int64_t>> &devices;
  /// What the tables list: all, or what the devices that are wanted name.
  /// Ascending; JSON numbers entries by their position here.
  std::vector<uint32_t> namedTensors, namedShards;
};
} // namespace

static void sortUnique(std::vector<uint32_t> &numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

static int64_t positionOf(uint32_t number, const std::vector<uint32_t> &in) {
  return std::lower_bound(in.begin(), in.end(), number) - in.begin();
}

void JsonWriter::nameOf(const fb::Program &program) {
  for (const auto *shards :
       {program.prev_shards(), program.curr_shards(), program.transit_shards()})
    if (shards)
      namedShards.insert(namedShards.end(), shards->begin(), shards->end());
  for (const fb::Round *round : *program.rounds())
    for (const fb::Op *op : *round->ops())
      namedTensors.insert(namedTensors.end(), {op->tensor(), op->source()});
}

void JsonWriter::nameTables() {
  if (!devices) {
    namedTensors.resize(plan.tensors()->size());
    namedShards.resize(plan.shards()->size());
    std::iota(namedTensors.begin(), namedTensors.end(), 0);
    std::iota(namedShards.begin(), namedShards.end(), 0);
    return;
  }
  for (const fb::Program *program : *plan.programs())
    if (std::any_of(program->devices()->begin(), program->devices()->end(),
                    [&](uint32_t device) { return isWanted(device); }))
      nameOf(*program);
  sortUnique(namedShards);
  for (uint32_t shard : namedShards)
    namedTensors.push_back(plan.shards()->Get(shard)->tensor());
  sortUnique(namedTensors);
}

static Json positions(const flatbuffers::Vector<uint32_t> &numbers,
                      const std::vector<uint32_t> &in) {
  Json result = Json::array();
  for (uint32_t number : numbers)
    result.push_back(positionOf(number, in));
  return result;
}

template <typename Vector> static Json list(const Vector *values) {
  Json result = Json::array();
  if (values)
    for (auto value : *values)
      result.push_back(value);
  return result;
}

static Json boxJson(BoxView box) {
  Json ranges = Json::array();
  for (Span span : box)
    ranges.push_back({span.begin, span.end});
  return ranges;
}

Json JsonWriter::world() const {
  return {{"prev", plan::worldOf(*plan.prev())},
          {"curr", plan::worldOf(*plan.curr())},
          {"nodes", list(plan.nodes())},
          {"participants", list(plan.participants())}};
}

/// Rank r of curr sits on a device; its previous rank is the one that the same
/// device had and whose state it holds.
Json JsonWriter::sketch() const {
  std::vector<int64_t> prevRank;
  for (uint32_t rank = 0; rank < plan.prev_placement()->size(); ++rank) {
    uint32_t device = plan.prev_placement()->Get(rank);
    prevRank.resize(std::max<size_t>(prevRank.size(), device + 1), -1);
    prevRank[device] = rank;
  }
  Json pairs = Json::array();
  for (uint32_t rank = 0; rank < plan.curr_placement()->size(); ++rank) {
    uint32_t device = plan.curr_placement()->Get(rank);
    bool had = device < prevRank.size() && prevRank[device] >= 0;
    pairs.push_back({{"curr", rank},
                     {"prev", had ? Json(prevRank[device]) : Json(nullptr)},
                     {"device", device}});
  }
  return pairs;
}

/// With their duals: a reader can check them against the shards.
Json JsonWriter::certificates() const {
  Json result = Json::array();
  if (!plan.certificates())
    return result;
  for (const fb::Certificate *certificate : *plan.certificates()) {
    Json entry = runtime::certificateJson(*certificate);
    entry["row_duals"] = list(certificate->row_duals());
    entry["column_duals"] = list(certificate->column_duals());
    result.push_back(std::move(entry));
  }
  return result;
}

Json JsonWriter::tensors() const {
  Json result = Json::array();
  for (uint32_t number : namedTensors) {
    const fb::Tensor *tensor = plan.tensors()->Get(number);
    Json entry = {{"name", tensor->name()->str()},
                  {"type", tensor->type()->str()},
                  {"dtype", fb::EnumNameDType(tensor->dtype())},
                  {"shape", list(tensor->shape())}};
    if (tensor->pattern() >= 0)
      entry["pattern"] = plan.patterns()->Get(tensor->pattern())->str();
    if (tensor->view())
      entry["view"] = list(tensor->view());
    if (tensor->prev_shape())
      entry["prev_shape"] = list(tensor->prev_shape());
    if (tensor->tied_to() >= 0)
      entry["tied_to"] = plan.tensors()->Get(tensor->tied_to())->name()->str();
    if (tensor->is_derived())
      entry["derived"] = true;
    if (tensor->deferred())
      entry["deferred"] = true;
    result.push_back(std::move(entry));
  }
  return result;
}

Json JsonWriter::shards() const {
  Json result = Json::array();
  for (uint32_t shard : namedShards) {
    Json boxes = Json::array();
    for (uint32_t box = 0; box < index.boxCount(shard); ++box)
      boxes.push_back(boxJson(index.shardBox(shard, box)));
    result.push_back({{"tensor", positionOf(plan.shards()->Get(shard)->tensor(),
                                            namedTensors)},
                      {"boxes", boxes}});
  }
  return result;
}

/// Which end of an op is in transit: what it reads, writes or frees.
static const char *transitEnd(fb::OpKind kind) {
  if (kind == fb::OpKind::release)
    return "of";
  return kind == fb::OpKind::send ? "from" : "to";
}

Json JsonWriter::op(const fb::Op &op, uint32_t program,
                    uint32_t replica) const {
  Json entry = {{"op", fb::EnumNameOpKind(op.kind())}};
  bool transfers =
      op.kind() == fb::OpKind::send || op.kind() == fb::OpKind::recv;
  if (transfers)
    entry["peer"] =
        index.program(program).peers()->Get(op.peer())->devices()->Get(replica);
  entry["tensor"] = positionOf(op.tensor(), namedTensors);
  if (op.source() != op.tensor())
    entry["source"] = positionOf(op.source(), namedTensors);
  if (op.kind() != fb::OpKind::release)
    entry["box"] = boxJson(index.opBox(op));
  if (op.from_curr())
    entry["from"] = "curr";
  if (op.transit())
    entry[transitEnd(op.kind())] = "transit";
  return entry;
}

Json JsonWriter::device(uint32_t rank) const {
  auto [program, replica] = index.participant(rank);
  const fb::Program &entry = index.program(program);
  Json rounds = Json::array();
  for (const fb::Round *round : *entry.rounds()) {
    Json ops = Json::array();
    for (const fb::Op *each : *round->ops())
      ops.push_back(op(*each, program, replica));
    rounds.push_back(std::move(ops));
  }
  Json device = {{"device", index.device(rank)},
                 {"prev", positions(*entry.prev_shards(), namedShards)},
                 {"curr", positions(*entry.curr_shards(), namedShards)},
                 {"rounds", std::move(rounds)}};
  if (index.hasTail())
    device["tail_peak"] = entry.tail_peak();
  if (entry.transit_shards())
    device["transit"] = positions(*entry.transit_shards(), namedShards);
  return device;
}

Json JsonWriter::deviceList() const {
  Json result = Json::array();
  for (uint32_t rank = 0; rank < index.rankCount(); ++rank)
    if (isWanted(index.device(rank)))
      result.push_back(device(rank));
  return result;
}

Json JsonWriter::write() const {
  Json json = {{"format", "etc-plan"},
               {"version", kJsonVersion},
               {"world", world()},
               {"summary", runtime::summaryJson(index)},
               {"time", runtime::timeJson(index)},
               {"barred", list(plan.barred())},
               {"certificates", certificates()},
               {"placement",
                {{"prev", list(plan.prev_placement())},
                 {"curr", list(plan.curr_placement())}}},
               {"sketch", sketch()},
               {"tensors", tensors()},
               {"shards", shards()},
               {"devices", deviceList()}};
  if (plan::defersState(index))
    json["pause"] = runtime::pauseJson(index);
  return json;
}

void etc::writeJson(const fb::Plan &plan,
                    const std::optional<std::vector<int64_t>> &devices,
                    llvm::raw_ostream &os) {
  // Names come from the user's file and may be any bytes.
  os << JsonWriter(plan, devices)
            .write()
            .dump(1, ' ', false, Json::error_handler_t::replace)
     << "\n";
}
