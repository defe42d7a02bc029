//===- Egress.cpp - The least that the busiest sender sends ---------------===//

#include "Egress.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <deque>
#include <vector>

using namespace etc;
using llvm::MutableArrayRef;
using llvm::SmallVector;

namespace {
class Leveller {
public:
  Leveller(MutableArrayRef<Shipment> shipments, int64_t devices);

  int64_t findBusiest() const { return llvm::max_element(sent) - sent.begin(); }
  int64_t getSent(int64_t device) const { return sent[device]; }
  /// Makes the device send less, and no other come to as much as it did.
  bool relieve(int64_t busiest);

private:
  /// How a device was reached: with a shipment of the one before it.
  struct Step {
    size_t shipment;
    int64_t from;
  };
  using Steps = llvm::DenseMap<int64_t, Step>;
  void move(size_t shipment, int64_t to);
  void moveAlong(const Steps &steps, int64_t last);

  MutableArrayRef<Shipment> shipments;
  SmallVector<int64_t> sent;                ///< [device] bytes
  SmallVector<SmallVector<size_t>> carried; ///< [device] shipments
};
} // namespace

Leveller::Leveller(MutableArrayRef<Shipment> shipments, int64_t devices)
    : shipments(shipments), sent(devices), carried(devices) {
  for (auto [number, shipment] : llvm::enumerate(shipments)) {
    sent[shipment.sender] += shipment.bytes;
    carried[shipment.sender].push_back(number);
  }
}

void Leveller::move(size_t number, int64_t to) {
  Shipment &shipment = shipments[number];
  sent[shipment.sender] -= shipment.bytes;
  sent[to] += shipment.bytes;
  llvm::erase(carried[shipment.sender], number);
  carried[to].push_back(number);
  shipment.sender = to;
}

void Leveller::moveAlong(const Steps &steps, int64_t last) {
  for (auto step = steps.find(last); step != steps.end();
       step = steps.find(last)) {
    move(step->second.shipment, last);
    last = step->second.from;
  }
}

bool Leveller::relieve(int64_t busiest) {
  const int64_t limit = sent[busiest];
  Steps steps;
  std::deque<int64_t> reached = {busiest};
  for (; !reached.empty(); reached.pop_front()) {
    const int64_t from = reached.front();
    const auto before = steps.find(from);
    const int64_t extra =
        before == steps.end() ? 0 : shipments[before->second.shipment].bytes;
    for (size_t number : carried[from]) {
      const Shipment &shipment = shipments[number];
      // What it passes on must make room for what it is given.
      if (const int64_t after = sent[from] + extra - shipment.bytes;
          after >= limit && after > sent[from])
        continue;
      for (int64_t to : shipment.senders) {
        if (to == busiest || !steps.try_emplace(to, Step{number, from}).second)
          continue;
        if (sent[to] + shipment.bytes < limit) {
          moveAlong(steps, to);
          return true;
        }
        reached.push_back(to);
      }
    }
  }
  return false;
}

void etc::levelEgress(MutableArrayRef<Shipment> shipments, int64_t devices,
                      int64_t enough) {
  Leveller leveller(shipments, devices);
  int64_t busiest = leveller.findBusiest();
  while (leveller.getSent(busiest) > enough && leveller.relieve(busiest))
    busiest = leveller.findBusiest();
}
