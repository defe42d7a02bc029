#include "view/simulate/PlanTime.h"

#include "core/plan/TimeBound.h"
#include "view/simulate/Ports.h"
#include "view/simulate/Simulator.h"

#include <algorithm>
#include <unordered_map>

using namespace etc::runtime;
using etc::plan::PlanIndex;

/// Some tenths of a second.
constexpr double kStepsOfSummary = 3e7;

/// Every message in flight is looked at whenever one ends.
static bool isQuickToSimulate(const Workload &work, double mostSteps) {
  double steps = 0;
  for (const auto &messages : work.messages)
    steps += static_cast<double>(messages.size()) * messages.size();
  return steps < mostSteps;
}

/// When each device ends each round if a round takes a device as long as the
/// ports of its messages are busy with all that goes through them, once both
/// ends have finished the round before; the first deferred round waits for all.
static std::vector<std::vector<double>> estimateEnds(const PlanIndex &index,
                                                     const Workload &work,
                                                     const Cluster &cluster) {
  Network unused;
  const Ports ports(index, cluster, unused);
  std::vector<double> ends(index.rankCount());
  std::vector<std::vector<double>> seconds(ends.size());
  for (const auto &messages : work.messages) {
    if (!ends.empty() && seconds.front().size() == index.firstDeferredRound())
      std::ranges::fill(ends, *std::ranges::max_element(ends));
    std::unordered_map<uint32_t, double> busy; // seconds by port
    for (const SimulatedMessage &it : messages) {
      const Route route = ports.route(it.from, it.to);
      const double rate =
          route.crossesNodes ? cluster.portRate : cluster.linkRate;
      for (uint32_t port : {route.from, route.to})
        busy[port] += static_cast<double>(it.bytes) / rate;
    }
    std::vector<double> next = ends;
    for (const SimulatedMessage &it : messages) {
      const Route route = ports.route(it.from, it.to);
      const double arrival = std::max(ends[it.from], ends[it.to]) +
                             std::max(busy[route.from], busy[route.to]) +
                             2 * cluster.portLatency;
      for (uint32_t rank : {it.from, it.to})
        next[rank] = std::max(next[rank], arrival);
    }
    ends = std::move(next);
    for (size_t rank = 0; rank != ends.size(); ++rank)
      seconds[rank].push_back(ends[rank]);
  }
  return seconds;
}

RoundEnds etc::runtime::predictRounds(const PlanIndex &index,
                                      const Workload &work,
                                      const Cluster &cluster,
                                      double mostSteps) {
  if (!isQuickToSimulate(work, mostSteps))
    return {estimateEnds(index, work, cluster)};
  RoundEnds result{
      std::vector<std::vector<double>>(
          index.rankCount(), std::vector<double>(work.messages.size())),
      true};
  const Forecast forecast = simulate(
      index, work, cluster, [&](uint32_t rank, uint32_t round, double seconds) {
        result.seconds[rank][round] = seconds;
      });
  result.busiestPortSeconds = forecast.busiestPortSeconds;
  return result;
}

/// When the last device ends the first of the rounds.
static double endOf(const RoundEnds &ends, size_t rounds) {
  double last = 0;
  for (const std::vector<double> &device : ends.seconds)
    for (size_t round = 0; round != rounds; ++round)
      last = std::max(last, device[round]);
  return last;
}

bool etc::runtime::isSimulated(const Workload &work) {
  return isQuickToSimulate(work, kStepsOfSummary);
}

std::optional<PlanTime> etc::runtime::timeOf(const PlanIndex &index) {
  if (!index.plan().resources())
    return std::nullopt;
  return timeOf(index, workloadOf(index));
}

std::optional<PlanTime> etc::runtime::timeOf(const PlanIndex &index,
                                             const Workload &work) {
  if (!index.plan().resources())
    return std::nullopt;
  const Cluster cluster = clusterOf(*index.plan().resources());
  const RoundEnds ends = predictRounds(index, work, cluster, kStepsOfSummary);
  PlanTime time{plan::boundSeconds(index.plan().time_bound()),
                busiestPortSeconds(index, work, cluster),
                endOf(ends, work.messages.size()), ends.isSimulated};
  if (plan::defersState(index)) {
    time.pauseBoundSeconds = plan::boundSeconds(index.plan().pause_bound());
    time.pauseSeconds = endOf(ends, index.firstDeferredRound());
  }
  time.roleBoundSeconds = plan::roleBoundSeconds(index.plan().role_bound());
  return time;
}
