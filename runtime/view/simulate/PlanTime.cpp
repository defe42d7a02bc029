#include "view/simulate/PlanTime.h"

#include "core/plan/TimeBound.h"
#include "view/simulate/Simulator.h"

#include <algorithm>

using namespace etc::runtime;
using etc::plan::PlanIndex;

/// Some tens of milliseconds.
constexpr double kStepsOfSummary = 3e6;

/// Every message in flight is looked at whenever one ends.
static bool isQuickToSimulate(const Workload &work, double mostSteps) {
  double steps = 0;
  for (const auto &messages : work.messages)
    steps += static_cast<double>(messages.size()) * messages.size();
  return steps < mostSteps;
}

namespace {
/// What a device carries in a round, in seconds of its link and its port.
struct Carried {
  double linkOut = 0, linkIn = 0, portOut = 0, portIn = 0;
  double most() const { return std::max({linkOut, linkIn, portOut, portIn}); }
};
} // namespace

static double lockstepSeconds(const PlanIndex &index,
                              const std::vector<SimulatedMessage> &messages,
                              const Cluster &cluster) {
  std::vector<Carried> carried(index.rankCount());
  double most = 0;
  for (const SimulatedMessage &message : messages) {
    Carried &from = carried[message.from], &to = carried[message.to];
    const uint32_t node = index.nodeOf(index.device(message.to));
    const auto size = static_cast<double>(message.bytes);
    const double perPort =
        std::max(1.0, static_cast<double>(index.plan().nodes()->Get(node)) /
                          cluster.portsPerNode);
    if (index.nodeOf(index.device(message.from)) == node) {
      from.linkOut += size / cluster.linkRate;
      to.linkIn += size / cluster.linkRate;
    } else {
      from.portOut += perPort * size / cluster.portRate;
      to.portIn += perPort * size / cluster.portRate;
    }
    most = std::max({most, from.most(), to.most()});
  }
  return most + 2 * cluster.portLatency;
}

static std::vector<double> lockstepEnds(const PlanIndex &index,
                                        const Workload &work,
                                        const Cluster &cluster) {
  std::vector<double> ends;
  for (const auto &messages : work.messages)
    ends.push_back((ends.empty() ? 0 : ends.back()) +
                   lockstepSeconds(index, messages, cluster));
  return ends;
}

RoundEnds etc::runtime::predictRounds(const PlanIndex &index,
                                      const Workload &work,
                                      const Cluster &cluster,
                                      double mostSteps) {
  if (!isQuickToSimulate(work, mostSteps))
    return {{index.rankCount(), lockstepEnds(index, work, cluster)}};
  RoundEnds result{
      std::vector<std::vector<double>>(
          index.rankCount(), std::vector<double>(work.messages.size())),
      true};
  const Forecast forecast = simulate(
      index, cluster, [&](uint32_t rank, uint32_t round, double seconds) {
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

std::optional<PlanTime> etc::runtime::timeOf(const PlanIndex &index) {
  if (!index.plan().resources())
    return std::nullopt;
  const Cluster cluster = clusterOf(*index.plan().resources());
  const Workload work = workloadOf(index);
  const RoundEnds ends = predictRounds(index, work, cluster, kStepsOfSummary);
  PlanTime time{plan::boundSeconds(index.plan().time_bound()),
                busiestPortSeconds(index, work, cluster),
                endOf(ends, work.messages.size())};
  if (plan::defersState(index)) {
    time.pauseBoundSeconds = plan::boundSeconds(index.plan().pause_bound());
    time.pauseSeconds = endOf(ends, index.firstDeferredRound());
  }
  time.roleBoundSeconds = plan::roleBoundSeconds(index.plan().role_bound());
  return time;
}
