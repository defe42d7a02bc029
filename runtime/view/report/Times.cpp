#include "view/report/Times.h"

#include "view/simulate/PlanTime.h"

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

/// Some seconds of simulation.
constexpr double kStepsOfReport = 3e8;

Prediction etc::runtime::predictTimes(const PlanIndex &index,
                                      const Workload &work,
                                      const Cluster &cluster) {
  const RoundEnds ends = predictRounds(index, work, cluster, kStepsOfReport);
  return {timesOf(ends.seconds), ends.isSimulated, ends.busiestPortSeconds};
}
