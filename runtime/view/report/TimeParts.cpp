#include "view/report/TimeParts.h"

#include "view/simulate/Simulator.h"

#include <algorithm>
#include <limits>
#include <map>

using namespace etc::runtime;
using etc::plan::PlanIndex;

/// What comes so near to the busiest port has no cause worth simulating.
constexpr double kWorthExplaining = 1.05;

/// All messages in one round, one for each pair of devices.
static Workload inOneRound(const Workload &work) {
  std::map<std::pair<uint32_t, uint32_t>, uint64_t> bytes;
  for (const auto &messages : work.messages)
    for (const SimulatedMessage &it : messages)
      bytes[{it.from, it.to}] += it.bytes;
  Workload merged;
  merged.steps.emplace_back(work.steps.front().size());
  std::vector<SimulatedMessage> &messages = merged.messages.emplace_back();
  for (auto [ends, sum] : bytes)
    messages.push_back({ends.first, ends.second, sum});
  return merged;
}

static void addLocalWork(const Workload &work, double rate, TimeParts &parts) {
  const size_t ranks = work.steps.empty() ? 0 : work.steps.front().size();
  for (size_t rank = 0; rank != ranks; ++rank) {
    uint64_t copied = 0, packed = 0;
    for (const std::vector<DeviceStep> &steps : work.steps) {
      copied += steps[rank].copyBytes;
      packed += steps[rank].packBytes + steps[rank].unpackBytes;
    }
    parts.copies = std::max(parts.copies, static_cast<double>(copied) / rate);
    parts.packing = std::max(parts.packing, static_cast<double>(packed) / rate);
  }
}

TimeParts etc::runtime::partsOf(const PlanIndex &index, const Workload &work,
                                const Cluster &cluster,
                                const Prediction &prediction) {
  const double seconds = prediction.times.seconds;
  TimeParts parts{seconds, seconds, seconds,
                  busiestPortSeconds(index, work, cluster)};
  addLocalWork(work, cluster.packRate, parts);
  if (seconds <= kWorthExplaining * parts.port || work.messages.empty())
    return parts;
  Cluster free = cluster;
  free.packRate = std::numeric_limits<double>::infinity();
  const auto secondsOf = [&](const Workload &other) {
    return predictTimes(index, other, free).times.seconds;
  };
  // An estimate has neither packing nor copies.
  if (prediction.isSimulated)
    parts.exchange = std::min(seconds, secondsOf(work));
  parts.oneRound =
      work.messages.size() == 1
          ? parts.exchange
          : std::clamp(secondsOf(inOneRound(work)),
                       std::min(parts.port, parts.exchange), parts.exchange);
  return parts;
}
