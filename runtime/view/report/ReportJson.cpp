// What the page draws. Columns of numbers are lists of their own, so that large
// plans stay small; page/plan.js reads them.

#include "view/report/Advice.h"
#include "view/report/CostMatrix.h"
#include "view/report/DeviceRounds.h"
#include "view/report/Report.h"
#include "view/report/ResourceTimes.h"
#include "view/report/SummaryJson.h"
#include "view/report/Tensors.h"
#include "view/report/Times.h"

#include "core/plan/Configuration.h"
#include "core/plan/PeakRatios.h"
#include "view/simulate/Simulator.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

using namespace etc::runtime;
using etc::plan::PlanIndex;
using etc::plan::Side;
using Json = nlohmann::ordered_json;
namespace fb = etc::plan::fb;

/// As many numbers of devices' rounds as a page can hold.
constexpr size_t kMostTrackNumbers = 1 << 19;

static Json rolesJson(const RoleTable &table) {
  Json list = Json::array();
  for (const Role &role : table.roles)
    list.push_back(
        {{"name", role.name}, {"stage", role.stage}, {"tensor", role.slot}});
  return list;
}

/// The rank that each device has on a side, or -1.
static std::vector<int64_t>
ranksOf(const flatbuffers::Vector<uint32_t> &placement, size_t deviceCount) {
  std::vector<int64_t> ranks(deviceCount, -1);
  for (uint32_t rank = 0; rank != placement.size(); ++rank)
    if (placement.Get(rank) < deviceCount)
      ranks[placement.Get(rank)] = rank;
  return ranks;
}

/// Every device of the cluster; -1 stands for none.
static Json devicesJson(const PlanIndex &index) {
  const fb::Plan &plan = index.plan();
  size_t count = 0;
  for (uint32_t node : *plan.nodes())
    count += node;
  std::vector<int64_t> program(count, -1);
  for (uint32_t rank = 0; rank != index.rankCount(); ++rank)
    program[index.device(rank)] = index.participant(rank).program;
  return {{"program", program},
          {"prev_rank", ranksOf(*plan.prev_placement(), count)},
          {"curr_rank", ranksOf(*plan.curr_placement(), count)}};
}

static Json programJson(const PlanIndex &index, uint32_t p,
                        const RoleTable &prev, const RoleTable &curr) {
  const fb::Program &program = *index.plan().programs()->Get(p);
  std::map<fb::OpKind, uint64_t> bytes;
  for (const auto *round : *program.rounds())
    for (const fb::Op *op : *round->ops())
      if (op->kind() != fb::OpKind::release)
        bytes[op->kind()] += index.opBytes(*op);
  return {{"name", etc::plan::describeRoles(program)},
          {"prev", prev.ofProgram[p]},
          {"curr", curr.ofProgram[p]},
          {"devices", program.devices()->size()},
          {"prev_bytes", etc::plan::heldBytes(index, p, Side::Prev)},
          {"curr_bytes", etc::plan::heldBytes(index, p, Side::Curr)},
          {"sent", bytes[fb::OpKind::send]},
          {"received", bytes[fb::OpKind::recv]},
          {"kept", bytes[fb::OpKind::refer]},
          {"derived", bytes[fb::OpKind::derive]},
          {"zeroed", bytes[fb::OpKind::zero]},
          {"slabs", program.send_slab() + program.recv_slab()},
          {"peak", program.peak()},
          {"peak_safe", program.peak_safe()}};
}

/// Of all programs, or of those nearest to the worst peak ratio.
static Json tracksJson(const PlanIndex &index) {
  std::vector<std::pair<double, uint32_t>> order;
  for (uint32_t p = 0; p != index.programCount(); ++p) {
    const double state = static_cast<double>(etc::plan::stateBytes(index, p));
    order.push_back(
        {state > 0 ? -static_cast<double>(index.program(p).peak()) / state : 0,
         p});
  }
  std::sort(order.begin(), order.end());
  size_t numbers = 0;
  Json tracks = Json::array();
  for (auto [ratio, p] : order) {
    DeviceRounds track = deviceRoundsOf(index, p);
    numbers += 4 * track.during.size() + 1;
    if (numbers > kMostTrackNumbers)
      break;
    tracks.push_back({{"program", p},
                      {"before", track.before},
                      {"during", track.during},
                      {"after", track.after},
                      {"sent", track.sent},
                      {"received", track.received}});
  }
  return tracks;
}

static Json matrixJson(const CostMatrix &matrix) {
  if (matrix.rows.empty() || matrix.columns.empty())
    return nullptr;
  Json pairs = Json::array();
  for (const CostMatrix::Pair &pair : matrix.pairs)
    pairs.push_back({pair.row, pair.column, pair.devices});
  return {{"rows", matrix.rows},
          {"columns", matrix.columns},
          {"costs", matrix.costs},
          {"pairs", pairs}};
}

/// [from, to, bytes], devices ascending.
static Json flowsJson(const PlanIndex &index, const Workload &work) {
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> flows;
  for (const auto &round : work.messages)
    for (const SimulatedMessage &message : round)
      flows[{index.device(message.from), index.device(message.to)}] +=
          message.bytes;
  Json list = Json::array();
  for (auto [ends, bytes] : flows)
    list.push_back({ends.first, ends.second, bytes});
  return list;
}

static Json roundsJson(const PlanIndex &index, const Workload &work) {
  std::vector<uint64_t> moved, port, messages;
  for (const fb::RoundForecast *round : *index.plan().forecast()) {
    messages.push_back(work.messages[moved.size()].size());
    moved.push_back(round->moved_bytes());
    port.push_back(round->max_port_bytes());
  }
  return {{"moved", moved}, {"max_port", port}, {"messages", messages}};
}

static Json timesJson(const Times &times) {
  return {{"seconds", times.seconds},
          {"begins", times.begins},
          {"ends", times.ends},
          {"tracks", times.tracks},
          {"track_of_rank", times.trackOfRank}};
}

/// With their rounds where a page can show so many.
static Json resourcesJson(const ReportInput &input, const Workload &work) {
  constexpr size_t most = 16, mostRounds = 512;
  Json list = Json::array();
  for (const ResourceTime &resource :
       busiestResources(input.index, work, input.cluster, most))
    list.push_back({{"name", resource.name},
                    {"rank", resource.rank},
                    {"bytes", resource.bytes},
                    {"seconds", resource.seconds},
                    {"rounds", resource.rounds.size() > mostRounds
                                   ? Json(nullptr)
                                   : Json(resource.rounds)}});
  return list;
}

/// Whether what the plan says of its time is about the same cluster.
static bool hasOwnTime(const ReportInput &input) {
  const fb::Resources *resources = input.index.plan().resources();
  return resources && isOf(*resources, input.cluster);
}

static Json predictedJson(const ReportInput &input,
                          const Prediction &prediction) {
  Json json = timesJson(prediction.times);
  json["cluster"] = input.cluster.name;
  json["busiest_port_seconds"] = prediction.isSimulated
                                     ? Json(prediction.busiestPortSeconds)
                                     : Json(nullptr);
  return json;
}

static Json measuredJson(const std::optional<Measured> &measured) {
  if (!measured)
    return nullptr;
  Json json = timesJson(timesOf(measured->roundEnds));
  std::vector<double> seconds;
  std::vector<uint64_t> peaks;
  for (const Measured::Device &device : measured->devices) {
    seconds.push_back(device.seconds);
    peaks.push_back(device.peakBytes);
  }
  json["seconds"] = measured->seconds;
  json["transport"] = measured->transport;
  json["verified"] = measured->isVerified;
  json["device_seconds"] = seconds;
  json["device_peaks"] = peaks;
  return json;
}

static Json tensorsJson(const PlanIndex &index) {
  Json list = Json::array();
  for (const TensorVolumes &row : tensorVolumes(index))
    list.push_back({{"name", row.name},
                    {"type", row.type},
                    {"moved", row.moved},
                    {"kept", row.kept},
                    {"derived", row.derived},
                    {"zeroed", row.zeroed}});
  return list;
}

std::string etc::runtime::reportJson(const ReportInput &input) {
  const PlanIndex &index = input.index;
  const fb::Plan &plan = index.plan();
  const RoleTable prev = rolesOf(index, Side::Prev);
  const RoleTable curr = rolesOf(index, Side::Curr);
  const Workload work = workloadOf(index);
  const Prediction prediction = predictTimes(index, work, input.cluster);
  Json programs = Json::array();
  for (uint32_t p = 0; p != index.programCount(); ++p)
    programs.push_back(programJson(index, p, prev, curr));
  Json certificates = Json::array();
  if (plan.certificates())
    for (const fb::Certificate *certificate : *plan.certificates())
      certificates.push_back(certificateJson(*certificate));
  std::vector<uint32_t> nodes(plan.nodes()->begin(), plan.nodes()->end());
  std::vector<uint32_t> participants(plan.participants()->begin(),
                                     plan.participants()->end());
  Json json = {
      {"format", "etc-report"},
      {"version", 1},
      {"maker", input.maker},
      {"model", plan.model()->str()},
      {"prev", etc::plan::describe(*plan.prev())},
      {"curr", etc::plan::describe(*plan.curr())},
      {"world",
       {{"prev", etc::plan::worldOf(*plan.prev())},
        {"curr", etc::plan::worldOf(*plan.curr())},
        {"nodes", nodes},
        {"participants", participants}}},
      {"summary", summaryJson(index)},
      {"certificates", certificates},
      {"roles", {{"prev", rolesJson(prev)}, {"curr", rolesJson(curr)}}},
      {"devices", devicesJson(index)},
      {"programs", programs},
      {"matrix", matrixJson(costMatrixOf(index, prev, curr))},
      {"flows", flowsJson(index, work)},
      {"rounds", roundsJson(index, work)},
      {"tracks", tracksJson(index)},
      {"tensors", tensorsJson(index)},
      {"predicted", predictedJson(input, prediction)},
      {"resources", resourcesJson(input, work)},
      {"time", hasOwnTime(input) ? timeJson(index) : Json()},
      {"advice",
       adviceOn(index, partsOf(index, work, input.cluster, prediction),
                hasOwnTime(input))},
      {"price", Json::parse(input.price)},
      {"measured", measuredJson(input.measured)},
      {"notes", input.notes}};
  // Names come from the user's file and may be any bytes.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Cluster etc::runtime::defaultCluster(const PlanIndex &index) {
  if (index.plan().resources())
    return clusterOf(*index.plan().resources());
  const auto &nodes = *index.plan().nodes();
  Cluster cluster;
  cluster.name = "nodes with H100 GPUs, 400 Gb/s a GPU, NVLink 4";
  cluster.linkRate = 450e9;
  cluster.linkLatency = 5e-6;
  cluster.portsPerNode =
      std::max<uint32_t>(1, *std::max_element(nodes.begin(), nodes.end()));
  cluster.portRate = 50e9;
  cluster.portLatency = 15e-6;
  cluster.packRate = 1300e9;
  return cluster;
}
