// Flows that share ports fairly.

#ifndef ETC_RUNTIME_VIEW_SIMULATE_NETWORK_H
#define ETC_RUNTIME_VIEW_SIMULATE_NETWORK_H

#include <cstdint>
#include <limits>
#include <vector>

namespace etc::runtime {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// Every flow goes through two ports: its sender's and its receiver's. Rates
/// are max-min fair: no flow can get more without one that has less losing.
class Network {
public:
  /// Returns the port's number.
  uint32_t addPort(double bytesPerSecond) {
    ports.push_back({bytesPerSecond});
    return static_cast<uint32_t>(ports.size() - 1);
  }

  /// Makes the ports the two directions of a line. Each carries the
  /// acknowledgements of the other, which take this share of their bytes.
  void pair(uint32_t one, uint32_t other, double share);

  void start(uint32_t flow, uint32_t from, uint32_t to, double bytes);

  /// When the next flow ends if none starts before; kNever where there is none.
  double nextEnd(double now);
  /// Lets time pass, not beyond the next end; returns the flows that end.
  std::vector<uint32_t> advance(double from, double to);

private:
  struct Port {
    double rate;
    uint32_t back = 0; // carries this one's acknowledgements
    double backShare = 0;
    std::vector<uint32_t> flows = {}; // in Network::flows
    // While rates are worked out.
    bool isAffected = false;
    double room = 0;
    uint32_t open = 0; // flows without a rate
  };
  struct Flow {
    uint32_t id, from, to;
    double left;
    double rate;
  };

  void share();
  void findAffected();
  void fill();
  void dropEnded();

  std::vector<Port> ports;
  std::vector<Flow> flows;
  std::vector<uint32_t> changed;  // ports of flows that have come or gone since
  std::vector<uint32_t> affected; // ports whose flows get new rates
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_VIEW_SIMULATE_NETWORK_H
