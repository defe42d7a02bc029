#include "report/Times.h"

#include "plan/TimeBound.h"
#include "simulate/Simulator.h"

#include <algorithm>
#include <cmath>
#include <map>

using namespace etc::runtime;
using etc::plan::PlanIndex;

/// About 4 MB of text.
constexpr size_t kMostNumbers = 1 << 20;

Times etc::runtime::timesOf(const std::vector<std::vector<double>> &roundEnds) {
  Times times;
  std::map<std::vector<uint64_t>, uint32_t> numbers;
  for (const std::vector<double> &ends : roundEnds) {
    std::vector<uint64_t> track;
    uint64_t before = 0;
    for (size_t round = 0; round != ends.size(); ++round) {
      const auto end =
          static_cast<uint64_t>(std::llround(std::max(0.0, ends[round]) * 1e6));
      if (times.ends.size() == round) {
        times.begins.push_back(before);
        times.ends.push_back(end);
      }
      times.begins[round] = std::min(times.begins[round], before);
      times.ends[round] = std::max(times.ends[round], end);
      track.push_back(end - std::min(before, end));
      before = std::max(before, end);
      times.seconds = std::max(times.seconds, ends[round]);
    }
    times.trackOfRank.push_back(
        numbers.try_emplace(std::move(track), numbers.size()).first->second);
  }
  if (numbers.size() * times.ends.size() > kMostNumbers) {
    times.trackOfRank.clear();
    return times;
  }
  times.tracks.resize(numbers.size());
  for (const auto &[track, number] : numbers)
    times.tracks[number] = track;
  return times;
}

/// Every message in flight is looked at whenever one ends. Some seconds, and
/// some tens of milliseconds.
constexpr double kStepsOfReport = 3e8, kStepsOfSummary = 3e6;

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

static Times lockstepTimes(const PlanIndex &index, const Workload &work,
                           const Cluster &cluster) {
  std::vector<double> ends;
  for (const auto &messages : work.messages)
    ends.push_back((ends.empty() ? 0 : ends.back()) +
                   lockstepSeconds(index, messages, cluster));
  return timesOf(std::vector<std::vector<double>>(index.rankCount(), ends));
}

static Prediction predict(const PlanIndex &index, const Workload &work,
                          const Cluster &cluster, double mostSteps) {
  if (!isQuickToSimulate(work, mostSteps))
    return {lockstepTimes(index, work, cluster)};
  std::vector<std::vector<double>> ends(
      index.rankCount(), std::vector<double>(work.messages.size()));
  const Forecast forecast = simulate(
      index, cluster, [&](uint32_t rank, uint32_t round, double seconds) {
        ends[rank][round] = seconds;
      });
  return {timesOf(ends), true, forecast.busiestPortSeconds};
}

Prediction etc::runtime::predictTimes(const PlanIndex &index,
                                      const Workload &work,
                                      const Cluster &cluster) {
  return predict(index, work, cluster, kStepsOfReport);
}

std::optional<PlanTime> etc::runtime::timeOf(const PlanIndex &index) {
  if (!index.plan().resources())
    return std::nullopt;
  const Cluster cluster = clusterOf(*index.plan().resources());
  const Workload work = workloadOf(index);
  const Times times = predict(index, work, cluster, kStepsOfSummary).times;
  PlanTime time{plan::boundSeconds(index.plan().time_bound()),
                busiestPortSeconds(index, work, cluster), times.seconds};
  if (index.hasTail()) {
    time.pauseBoundSeconds = plan::boundSeconds(index.plan().pause_bound());
    if (const uint32_t first = index.firstDeferredRound())
      time.pauseSeconds = static_cast<double>(times.ends[first - 1]) * 1e-6;
  }
  return time;
}
