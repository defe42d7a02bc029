#include "view/simulate/Simulator.h"

#include "view/simulate/Ports.h"

#include <algorithm>
#include <map>
#include <queue>

using namespace etc::runtime;
using etc::plan::PlanIndex;

namespace {

/// A message in its round.
struct Flight {
  SimulatedMessage message;
  Route route;
  uint32_t round;
  unsigned readyEnds = 0;
};

/// What a device still waits for in its round.
struct Device {
  uint32_t round = 0;
  uint32_t arrivals = 0; // messages, and its own copies
  uint32_t answers = 0;
  bool isUnpacked = false;
};

class Simulation {
public:
  Simulation(const PlanIndex &index, const Workload &work,
             const Cluster &cluster, const OnRoundEnd &onRoundEnd)
      : cluster(cluster), onRoundEnd(onRoundEnd), work(work),
        firstDeferred(index.firstDeferredRound()),
        ports(index, cluster, network), devices(index.rankCount()),
        ofRank(work.messages.size()) {
    for (uint32_t round = 0; round != work.messages.size(); ++round)
      for (const SimulatedMessage &message : work.messages[round]) {
        auto flight = static_cast<uint32_t>(flights.size());
        flights.push_back(
            {message, ports.route(message.from, message.to), round});
        ofRank[round][message.from].push_back(flight);
        ofRank[round][message.to].push_back(flight);
      }
  }

  double run() {
    for (uint32_t rank = 0; rank != devices.size(); ++rank)
      goOn(rank);
    while (true) {
      double next = std::min(events.empty() ? kNever : events.top().time,
                             network.nextEnd(now));
      if (next == kNever)
        return now;
      std::vector<uint32_t> ended = network.advance(now, next);
      now = next;
      for (uint32_t flight : ended)
        arrive(flights[flight].message.to);
      while (!events.empty() && events.top().time <= now) {
        Event event = events.top();
        events.pop();
        handle(event);
      }
    }
  }

private:
  enum class Kind { Packed, Started, Copied, Unpacked, Answered };
  struct Event {
    double time;
    uint64_t order; // equal times in the order they were made
    Kind kind;
    uint32_t subject; // a rank, or a flight
    bool operator<(const Event &other) const {
      return std::tie(other.time, other.order) < std::tie(time, order);
    }
  };

  void after(double seconds, Kind kind, uint32_t subject) {
    events.push({now + seconds, made++, kind, subject});
  }

  /// To the next round. Those of the tail begin once all devices have ended the
  /// pause.
  void goOn(uint32_t rank) {
    const uint32_t round = devices[rank].round;
    if (round == work.steps.size())
      return;
    if (round != firstDeferred)
      return beginRound(rank);
    if (++waiting == devices.size())
      for (uint32_t other = 0; other != devices.size(); ++other)
        beginRound(other);
  }

  void beginRound(uint32_t rank) {
    Device &device = devices[rank];
    const DeviceStep &step = work.steps[device.round][rank];
    device.isUnpacked = false;
    device.arrivals = 1;
    device.answers = 0;
    for (uint32_t flight : ofRank[device.round][rank])
      ++(flights[flight].message.to == rank ? device.arrivals : device.answers);
    after(static_cast<double>(step.packBytes) / cluster.packRate, Kind::Packed,
          rank);
  }

  void handle(const Event &event) {
    switch (event.kind) {
    case Kind::Packed:
      return post(event.subject);
    case Kind::Started: {
      const Flight &flight = flights[event.subject];
      return network.start(event.subject, flight.route.from, flight.route.to,
                           static_cast<double>(flight.message.bytes));
    }
    case Kind::Copied:
      return arrive(event.subject);
    case Kind::Unpacked:
      return answer(event.subject);
    case Kind::Answered:
      --devices[event.subject].answers;
      return endRound(event.subject);
    }
  }

  /// A device's messages can go, and come, from now on.
  void post(uint32_t rank) {
    const Device &device = devices[rank];
    for (uint32_t flight : ofRank[device.round][rank])
      if (++flights[flight].readyEnds == 2)
        after(flights[flight].route.latency, Kind::Started, flight);
    const DeviceStep &step = work.steps[device.round][rank];
    after(static_cast<double>(step.copyBytes) / cluster.packRate, Kind::Copied,
          rank);
  }

  void arrive(uint32_t rank) {
    Device &device = devices[rank];
    if (--device.arrivals > 0)
      return;
    const DeviceStep &step = work.steps[device.round][rank];
    after(static_cast<double>(step.unpackBytes) / cluster.packRate,
          Kind::Unpacked, rank);
  }

  void answer(uint32_t rank) {
    Device &device = devices[rank];
    device.isUnpacked = true;
    for (uint32_t flight : ofRank[device.round][rank])
      if (flights[flight].message.to == rank)
        after(flights[flight].route.latency, Kind::Answered,
              flights[flight].message.from);
    endRound(rank);
  }

  void endRound(uint32_t rank) {
    Device &device = devices[rank];
    if (!device.isUnpacked || device.answers > 0)
      return;
    if (onRoundEnd)
      onRoundEnd(rank, device.round, now);
    ++device.round;
    goOn(rank);
  }

  const Cluster &cluster;
  const OnRoundEnd &onRoundEnd;
  const Workload &work;
  const uint32_t firstDeferred; ///< round
  uint32_t waiting = 0;         ///< devices that have ended the pause
  Network network;
  const Ports ports;
  std::vector<Flight> flights;
  std::vector<Device> devices;
  /// By round and rank: the flights it sends or receives.
  std::vector<std::map<uint32_t, std::vector<uint32_t>>> ofRank;
  std::priority_queue<Event> events;
  uint64_t made = 0;
  double now = 0;
};

} // namespace

LinkBytes etc::runtime::countLinkBytes(const PlanIndex &index,
                                       const Workload &work) {
  LinkBytes bytes;
  for (const auto &round : work.messages)
    for (const SimulatedMessage &message : round)
      (index.nodeOf(index.device(message.from)) ==
               index.nodeOf(index.device(message.to))
           ? bytes.insideNodes
           : bytes.betweenNodes) += message.bytes;
  return bytes;
}

double etc::runtime::busiestPortSeconds(const PlanIndex &index,
                                        const Workload &work,
                                        const Cluster &cluster) {
  Network unused;
  Ports ports(index, cluster, unused);
  std::map<uint32_t, double> busy; // seconds by port
  double most = 0;
  for (const auto &round : work.messages)
    for (const SimulatedMessage &message : round) {
      Route route = ports.route(message.from, message.to);
      double rate = route.crossesNodes ? cluster.portRate : cluster.linkRate;
      for (uint32_t port : {route.from, route.to})
        most = std::max(most, busy[port] +=
                              static_cast<double>(message.bytes) / rate);
    }
  return most;
}

Forecast etc::runtime::simulate(const PlanIndex &index, const Workload &work,
                                const Cluster &cluster,
                                const OnRoundEnd &onRoundEnd) {
  return {Simulation(index, work, cluster, onRoundEnd).run(),
          busiestPortSeconds(index, work, cluster)};
}
