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
  for (uint32_t port : {from, to}) {
    ports[port].flows.push_back(static_cast<uint32_t>(flows.size()));
    changed.push_back(port);
  }
  flows.push_back({flow, from, to, bytes, 0});
}

/// The ports that changed, and those that flows or acknowledgements connect to
/// them: no flow through another port gets another rate.
void Network::findAffected() {
  affected.clear();
  auto add = [&](uint32_t port) {
    if (!ports[port].isAffected)
      affected.push_back(port);
    ports[port].isAffected = true;
  };
  std::for_each(changed.begin(), changed.end(), add);
  for (size_t next = 0; next != affected.size(); ++next) {
    const Port &port = ports[affected[next]];
    if (port.backShare > 0)
      add(port.back);
    for (uint32_t i : port.flows) {
      add(flows[i].from);
      add(flows[i].to);
    }
  }
  for (uint32_t port : affected)
    ports[port].isAffected = false;
}

/// Acknowledgements are small, so rates without them tell well enough how many
/// there are; the second time they have their room.
void Network::share() {
  if (changed.empty())
    return;
  findAffected();
  changed.clear();
  bool areAcknowledged = false;
  for (uint32_t port : affected) {
    areAcknowledged |= ports[port].backShare > 0;
    ports[port].room = ports[port].rate;
  }
  fill();
  if (!areAcknowledged)
    return;
  for (uint32_t number : affected) {
    Port &port = ports[number];
    double used = 0;
    if (port.backShare > 0)
      for (uint32_t i : ports[port.back].flows)
        used += flows[i].rate * port.backShare;
    port.room = port.rate - used;
  }
  fill();
}

/// Fills ports up: the one with the least for each of its flows fixes them.
void Network::fill() {
  // The least share first. Shares change; those of before are passed over.
  using Share = std::pair<double, uint32_t>;
  std::priority_queue<Share, std::vector<Share>, std::greater<>> shares;
  auto shareOf = [&](uint32_t port) {
    return ports[port].room / ports[port].open;
  };
  for (uint32_t port : affected) {
    ports[port].open = static_cast<uint32_t>(ports[port].flows.size());
    for (uint32_t i : ports[port].flows)
      flows[i].rate = -1;
    if (ports[port].open > 0)
      shares.push({shareOf(port), port});
  }
  while (!shares.empty()) {
    const auto [least, tightest] = shares.top();
    shares.pop();
    if (ports[tightest].open == 0 || shareOf(tightest) != least)
      continue;
    for (uint32_t i : ports[tightest].flows) {
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
      changed.insert(changed.end(), {flow.from, flow.to});
      flow.left = 0;
    }
  }
  if (!ended.empty())
    dropEnded();
  return ended;
}

void Network::dropEnded() {
  for (const Flow &flow : flows)
    for (uint32_t port : {flow.from, flow.to})
      ports[port].flows.clear();
  std::erase_if(flows, [](const Flow &flow) { return flow.left == 0; });
  for (uint32_t i = 0; i != flows.size(); ++i)
    for (uint32_t port : {flows[i].from, flows[i].to})
      ports[port].flows.push_back(i);
}
