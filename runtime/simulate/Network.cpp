#include "simulate/Network.h"

#include <algorithm>

using namespace etc::runtime;

/// Rounding leaves a flow this much of a byte.
constexpr double kRest = 1e-3;

void Network::start(uint32_t flow, uint32_t from, uint32_t to, double bytes) {
  flows.push_back({flow, from, to, bytes, 0});
  isShared = false;
}

/// Fills ports up: the one with the least for each of its flows fixes them.
void Network::share() {
  if (isShared)
    return;
  isShared = true;
  std::vector<double> room = rates;
  std::vector<uint32_t> open(rates.size());
  for (Flow &flow : flows) {
    flow.rate = -1;
    ++open[flow.from];
    ++open[flow.to];
  }
  for (size_t fixed = 0; fixed < flows.size();) {
    uint32_t tightest = 0;
    double least = kNever;
    for (uint32_t port = 0; port != rates.size(); ++port)
      if (open[port] > 0 && room[port] / open[port] < least) {
        least = room[port] / open[port];
        tightest = port;
      }
    for (Flow &flow : flows) {
      if (flow.rate >= 0 || (flow.from != tightest && flow.to != tightest))
        continue;
      flow.rate = least;
      for (uint32_t port : {flow.from, flow.to}) {
        room[port] = std::max(0.0, room[port] - least);
        --open[port];
      }
      ++fixed;
    }
  }
}

double Network::nextEnd(double now) {
  share();
  double end = kNever;
  for (const Flow &flow : flows)
    end = std::min(end, now + flow.left / flow.rate);
  return end;
}

std::vector<uint32_t> Network::advance(double from, double to) {
  share();
  std::vector<uint32_t> ended;
  for (Flow &flow : flows) {
    flow.left -= flow.rate * (to - from);
    if (flow.left <= kRest)
      ended.push_back(flow.id);
  }
  if (!ended.empty()) {
    std::erase_if(flows, [](const Flow &f) { return f.left <= kRest; });
    isShared = false;
  }
  return ended;
}
