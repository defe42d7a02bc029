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

namespace {
/// Runs through rounds as the simulator does, but for how messages share a port
/// while they travel: each takes as long as the busier of its ports is busy
/// with all of the round.
class Estimate {
public:
  Estimate(const PlanIndex &index, const Workload &work, const Cluster &cluster)
      : work(work), cluster(cluster), ports(index, cluster, unused),
        ends(index.rankCount()), firstDeferred(index.firstDeferredRound()) {}

  /// When each device ends each round.
  std::vector<std::vector<double>> run();

private:
  double packSeconds(uint64_t bytes) const {
    return static_cast<double>(bytes) / cluster.packRate;
  }
  std::vector<Route> loadPorts(size_t round);
  void endRound(size_t round);

  const Workload &work;
  const Cluster &cluster;
  Network unused;
  const Ports ports;
  std::vector<double> ends;                  ///< [ranks], of the round before
  std::unordered_map<uint32_t, double> busy; ///< seconds of the round, by port
  const uint32_t firstDeferred;
};
} // namespace

/// Routes of the messages of a round.
std::vector<Route> Estimate::loadPorts(size_t round) {
  busy.clear();
  std::vector<Route> routes;
  routes.reserve(work.messages[round].size());
  for (const SimulatedMessage &it : work.messages[round]) {
    const Route &route = routes.emplace_back(ports.route(it.from, it.to));
    const double rate =
        route.crossesNodes ? cluster.portRate : cluster.linkRate;
    for (uint32_t port : {route.from, route.to})
      busy[port] += static_cast<double>(it.bytes) / rate;
  }
  return routes;
}

void Estimate::endRound(size_t round) {
  const auto &messages = work.messages[round];
  const std::vector<DeviceStep> &steps = work.steps[round];
  const std::vector<Route> routes = loadPorts(round);
  std::vector<double> posted = std::move(ends);
  for (size_t rank = 0; rank != posted.size(); ++rank)
    posted[rank] += packSeconds(steps[rank].packBytes);
  std::vector<double> done = posted;
  for (size_t rank = 0; rank != done.size(); ++rank)
    done[rank] += packSeconds(steps[rank].copyBytes);
  for (size_t i = 0; i != messages.size(); ++i) {
    const auto [from, to, bytes] = messages[i];
    done[to] = std::max(done[to],
                        std::max(posted[from], posted[to]) + routes[i].latency +
                            std::max(busy[routes[i].from], busy[routes[i].to]));
  }
  for (size_t rank = 0; rank != done.size(); ++rank)
    done[rank] += packSeconds(steps[rank].unpackBytes);
  // A sender waits for answers.
  ends = done;
  for (size_t i = 0; i != messages.size(); ++i)
    ends[messages[i].from] = std::max(ends[messages[i].from],
                                      done[messages[i].to] + routes[i].latency);
}

std::vector<std::vector<double>> Estimate::run() {
  std::vector<std::vector<double>> seconds(ends.size());
  for (size_t round = 0; round != work.messages.size(); ++round) {
    if (!ends.empty() && round == firstDeferred)
      std::ranges::fill(ends, *std::ranges::max_element(ends));
    endRound(round);
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
    return {Estimate(index, work, cluster).run()};
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
