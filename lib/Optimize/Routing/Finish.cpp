#include "Finish.h"

#include "etc/Optimize/Routing/Solver.h"

#include <algorithm>
#include <tuple>

namespace etc::routing {
namespace {

constexpr int32_t kUnknown = -1;

/// Stages of hops by those that they depend on.
class Stages {
public:
  Stages(const Problem &problem, std::vector<Hop> &hops)
      : problem(problem), hops(hops) {
    std::sort(hops.begin(), hops.end(), [](const Hop &a, const Hop &b) {
      return std::tie(a.atom, a.to, a.begin) < std::tie(b.atom, b.to, b.begin);
    });
    for (Hop &hop : hops)
      hop.stage = kUnknown;
  }

  void number() {
    for (Hop &hop : hops)
      visit(hop);
  }

private:
  int32_t visit(Hop &hop) {
    if (hop.stage != kUnknown)
      return hop.stage;
    int32_t stage = 0;
    const auto &holders = problem.holdersOf(problem.atoms[hop.atom]);
    if (!std::binary_search(holders.begin(), holders.end(), hop.from))
      for (auto it = findFirst(hop); it != hops.end() && it->atom == hop.atom &&
                                     it->to == hop.from && it->begin < hop.end;
           ++it)
        stage = std::max(stage, visit(*it) + 1);
    return hop.stage = stage;
  }

  /// The receipt of the hop's first byte.
  std::vector<Hop>::iterator findFirst(const Hop &hop) {
    return std::partition_point(hops.begin(), hops.end(), [&](const Hop &it) {
      return std::tie(it.atom, it.to, it.end) <=
             std::tie(hop.atom, hop.from, hop.begin);
    });
  }

  const Problem &problem;
  std::vector<Hop> &hops; ///< by (atom, receiver, begin)
};

/// Intervals that follow each other in one stage are one.
void join(std::vector<Hop> &hops) {
  std::sort(hops.begin(), hops.end(), [](const Hop &a, const Hop &b) {
    return std::tie(a.atom, a.stage, a.from, a.to, a.begin) <
           std::tie(b.atom, b.stage, b.from, b.to, b.begin);
  });
  std::vector<Hop> joined;
  for (const Hop &hop : hops) {
    if (!joined.empty()) {
      Hop &last = joined.back();
      if (std::tie(last.atom, last.stage, last.from, last.to, last.end) ==
          std::tie(hop.atom, hop.stage, hop.from, hop.to, hop.begin)) {
        last.end = hop.end;
        continue;
      }
    }
    joined.push_back(hop);
  }
  hops = std::move(joined);
}

Loads addUp(const Problem &problem, const std::vector<Hop> &hops) {
  const size_t devices = problem.devices.size(), nics = problem.nics.size();
  Loads loads;
  loads.linkOut.resize(devices);
  loads.linkIn.resize(devices);
  loads.nicOut.resize(nics);
  loads.nicIn.resize(nics);
  for (const Hop &hop : hops) {
    const int64_t bytes = hop.end - hop.begin;
    if (problem.nodeOf(hop.from) == problem.nodeOf(hop.to)) {
      loads.linkOut[hop.from] += bytes;
      loads.linkIn[hop.to] += bytes;
    } else {
      loads.nicOut[problem.devices[hop.from].nic] += bytes;
      loads.nicIn[problem.devices[hop.to].nic] += bytes;
    }
  }
  return loads;
}

} // namespace

Time findSlowest(const Problem &problem, const Loads &loads) {
  Time slowest;
  for (size_t i = 0; i < problem.devices.size(); ++i)
    slowest = std::max(slowest, {std::max(loads.linkOut[i], loads.linkIn[i]),
                                 problem.devices[i].linkRate});
  for (size_t i = 0; i < problem.nics.size(); ++i)
    slowest = std::max(slowest, {std::max(loads.nicOut[i], loads.nicIn[i]),
                                 problem.nics[i].rate});
  return slowest;
}

Solution finish(const Problem &problem, std::vector<Hop> hops) {
  Stages(problem, hops).number();
  join(hops);
  Loads loads = addUp(problem, hops);
  const Time time = findSlowest(problem, loads);
  return {std::move(hops), std::move(loads), time};
}

} // namespace etc::routing
