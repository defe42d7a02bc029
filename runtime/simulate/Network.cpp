#include "simulate/Network.h"

#include <algorithm>

using namespace etc::runtime;

/// Rounding leaves a flow this much of a byte.
constexpr double kRest = 1e-3;

void Network::pair(uint32_t one, uint32_t other, double share) {
  ports[one].back = other;
  ports[other].back = one;
  ports[one].backShare = ports[other].backShare = share;
}

void Network::start(uint32_t flow, uint32_t from, uint32_t to, double bytes) {
  flows.push_back({flow, from, to, bytes, 0});
  isShared = false;
}

/// Acknowledgements are small, so rates without them tell well enough how many
/// there are; the second time they have their room.
void Network::share() {
  if (isShared)
    return;
  isShared = true;
  busy.clear();
  bool areAcknowledged = false;
  for (const Flow &flow : flows)
    for (uint32_t port : {flow.from, flow.to}) {
      busy.push_back(port);
      areAcknowledged |= ports[port].backShare > 0;
      ports[port].used = ports[ports[port].back].used = 0;
    }
  std::sort(busy.begin(), busy.end());
  busy.erase(std::unique(busy.begin(), busy.end()), busy.end());
  for (uint32_t port : busy)
    ports[port].room = ports[port].rate;
  fill();
  if (!areAcknowledged)
    return;
  for (const Flow &flow : flows)
    for (uint32_t port : {flow.from, flow.to})
      ports[ports[port].back].used += flow.rate * ports[port].backShare;
  for (uint32_t port : busy)
    ports[port].room = ports[port].rate - ports[port].used;
  fill();
}

/// Fills ports up: the one with the least for each of its flows fixes them.
void Network::fill() {
  for (Flow &flow : flows) {
    flow.rate = -1;
    ++ports[flow.from].open;
    ++ports[flow.to].open;
  }
  for (size_t fixed = 0; fixed < flows.size();) {
    uint32_t tightest = 0;
    double least = kNever;
    for (uint32_t port : busy)
      if (ports[port].open > 0 && ports[port].room / ports[port].open < least) {
        least = ports[port].room / ports[port].open;
        tightest = port;
      }
    for (Flow &flow : flows) {
      if (flow.rate >= 0 || (flow.from != tightest && flow.to != tightest))
        continue;
      flow.rate = least;
      for (uint32_t port : {flow.from, flow.to}) {
        ports[port].room = std::max(0.0, ports[port].room - least);
        --ports[port].open;
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
    // What is left may take less than the clock can tell.
    if (flow.left <= kRest || to + flow.left / flow.rate <= to) {
      ended.push_back(flow.id);
      flow.left = 0;
    }
  }
  if (!ended.empty()) {
    std::erase_if(flows, [](const Flow &flow) { return flow.left == 0; });
    isShared = false;
  }
  return ended;
}
