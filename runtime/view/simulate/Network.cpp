#include "view/simulate/Network.h"

#include <algorithm>
#include <queue>

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
  flowsOf.resize(ports.size());
  for (uint32_t port : busy)
    flowsOf[port].clear();
  for (uint32_t i = 0; i != flows.size(); ++i) {
    flows[i].rate = -1;
    for (uint32_t port : {flows[i].from, flows[i].to}) {
      ++ports[port].open;
      flowsOf[port].push_back(i);
    }
  }
  // The least share first. Shares change; those of before are passed over.
  using Share = std::pair<double, uint32_t>;
  std::priority_queue<Share, std::vector<Share>, std::greater<>> shares;
  auto shareOf = [&](uint32_t port) {
    return ports[port].room / ports[port].open;
  };
  for (uint32_t port : busy)
    shares.push({shareOf(port), port});
  while (!shares.empty()) {
    const auto [least, tightest] = shares.top();
    shares.pop();
    if (ports[tightest].open == 0 || shareOf(tightest) != least)
      continue;
    for (uint32_t i : flowsOf[tightest]) {
      Flow &flow = flows[i];
      if (flow.rate >= 0)
        continue;
      flow.rate = least;
      for (uint32_t port : {flow.from, flow.to}) {
        ports[port].room = std::max(0.0, ports[port].room - least);
        if (--ports[port].open > 0 && port != tightest)
          shares.push({shareOf(port), port});
      }
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
