#include "DryRun.h"

#include "TraceFile.h"
#include "Units.h"

#include "core/engine/WireCounts.h"
#include "core/plan/TimeBound.h"
#include "view/simulate/Memory.h"
#include "view/simulate/Simulator.h"

#include <nlohmann/json.hpp>

#include <iostream>
#include <optional>

using namespace etc::run;
using namespace etc::runtime;
using etc::plan::PlanIndex;
using etc::plan::Status;
using Json = nlohmann::ordered_json;

namespace {

struct DeviceForecast {
  uint32_t device, node;
  uint64_t sentBytes = 0, receivedBytes = 0, internodeBytes = 0;
  uint64_t peakBytes = 0;
};

/// Threads read each other's tensors, so nothing is staged.
uint64_t peakOf(const etc::plan::fb::Program &program, const Options &options) {
  const uint64_t peak =
      options.mode == Mode::Safe ? program.peak_safe() : program.peak();
  return options.transport == TransportKind::Local
             ? peak - program.send_slab() - program.recv_slab()
             : peak;
}

std::vector<DeviceForecast> forecastDevices(const PlanIndex &index,
                                            const Workload &work,
                                            const Options &options) {
  std::vector<DeviceForecast> devices;
  for (uint32_t rank = 0; rank != index.rankCount(); ++rank) {
    const uint32_t device = index.device(rank);
    devices.push_back({device, index.nodeOf(device)});
    devices.back().peakBytes =
        peakOf(index.program(index.participant(rank).program), options);
  }
  for (const auto &round : work.messages)
    for (const SimulatedMessage &message : round) {
      devices[message.from].sentBytes += message.bytes;
      devices[message.to].receivedBytes += message.bytes;
      if (devices[message.from].node != devices[message.to].node)
        devices[message.to].internodeBytes += message.bytes;
    }
  return devices;
}

Json deviceObject(const DeviceForecast &forecast) {
  return {{"device", forecast.device},
          {"node", forecast.node},
          {"sent_bytes", forecast.sentBytes},
          {"received_bytes", forecast.receivedBytes},
          {"internode_bytes", forecast.internodeBytes},
          {"peak_bytes", forecast.peakBytes}};
}

Json wireObject(const WireCounts &counts) {
  return {{"rounds", counts.rounds},
          {"early_rounds", counts.earlyRounds},
          {"messages", counts.messages},
          {"pieces", counts.pieces},
          {"most_messages", counts.mostMessages},
          {"most_pieces", counts.mostPieces},
          {"sent_bytes", counts.sentBytes},
          {"bytes_in_flight", counts.inFlightBytes}};
}

void printJson(const PlanIndex &index,
               const std::vector<DeviceForecast> &devices, LinkBytes bytes,
               const std::optional<Cluster> &cluster, Forecast forecast,
               const Options &options) {
  // It is about the rates that the plan states.
  const etc::plan::fb::TimeBound *bound = index.plan().time_bound();
  if (bound && cluster && !hasPortsOf(*index.plan().resources(), *cluster))
    bound = nullptr;
  Json list = Json::array();
  for (const DeviceForecast &device : devices)
    list.push_back(deviceObject(device));
  Json out = {
      {"format", "etc-dry-run"},
      {"version", 1},
      {"transport", transportName(options.transport)},
      {"moved_bytes", bytes.insideNodes + bytes.betweenNodes},
      {"internode_bytes", bytes.betweenNodes},
      {"cluster", cluster ? Json(cluster->name) : Json()},
      {"seconds", cluster ? Json(forecast.seconds) : Json()},
      {"busiest_port_seconds",
       cluster ? Json(forecast.busiestPortSeconds) : Json()},
      {"bound_seconds", bound ? Json(etc::plan::boundSeconds(bound)) : Json()},
      {"witness", etc::plan::describeBound(index, bound)},
      {"devices", list}};
  if (options.transport == TransportKind::Nccl)
    out["nccl"] = wireObject(countWire(index, options.mode));
  std::cout << out.dump(2) << "\n";
}

void printText(const std::vector<DeviceForecast> &devices, LinkBytes bytes,
               const std::optional<Cluster> &cluster, Forecast forecast) {
  uint64_t peak = 0;
  for (const DeviceForecast &device : devices)
    peak = std::max(peak, device.peakBytes);
  std::cout << "moves inside nodes   " << formatBytes(bytes.insideNodes)
            << "\nmoves between nodes  " << formatBytes(bytes.betweenNodes)
            << "\npeak of a device     " << formatBytes(peak) << "\n";
  if (!cluster) {
    std::cout << "time                 --cluster=NAME|FILE says on which "
                 "cluster\n";
    return;
  }
  std::cout << "time                 " << formatNumber(forecast.seconds, 4)
            << " s on " << cluster->name << "\n"
            << "busiest port         "
            << formatNumber(forecast.busiestPortSeconds, 4)
            << " s at its full rate\n";
}

} // namespace

/// Simulates, and writes down every round where the options name a file.
static Status predict(const PlanIndex &index, const Workload &work,
                      const Cluster &cluster, const Options &options,
                      Forecast &forecast) {
  std::vector<std::vector<RoundMemory>> memory;
  for (uint32_t program = 0; program != index.programCount(); ++program)
    memory.push_back(memoryOf(index, program));
  std::vector<double> begins(index.rankCount());
  std::vector<PredictedRound> rounds;
  auto note = [&](uint32_t rank, uint32_t round, double seconds) {
    const auto &ofProgram = memory[index.participant(rank).program];
    if (round >= ofProgram.size())
      return; // it has nothing to do any more
    rounds.push_back({index.device(rank), round, begins[rank], seconds,
                      ofProgram[round].during, ofProgram[round].after});
    begins[rank] = seconds;
  };
  forecast = simulate(index, work, cluster, note);
  return options.trace.empty() ? Status::success()
                               : writePrediction(options.trace, rounds);
}

Status etc::run::printForecast(const PlanIndex &index, const Options &options) {
  const Workload work = workloadOf(index);
  std::optional<Cluster> cluster;
  Forecast forecast;
  if (!options.cluster.empty()) {
    auto read = readCluster(options.cluster);
    if (!read)
      return read.status();
    cluster = *read;
    if (Status s = predict(index, work, *cluster, options, forecast); !s.ok())
      return s;
  }
  LinkBytes bytes = countLinkBytes(index, work);
  auto devices = forecastDevices(index, work, options);
  if (options.json)
    printJson(index, devices, bytes, cluster, forecast, options);
  else
    printText(devices, bytes, cluster, forecast);
  return Status::success();
}
