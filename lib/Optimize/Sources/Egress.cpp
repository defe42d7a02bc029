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
  /// Who takes a shipment over, of those that were not reached and have room;
  /// -1 where nobody has.
  int64_t findTaker(const Shipment &shipment, const Steps &steps,
                    int64_t limit) const;
  void move(size_t shipment, int64_t to);
  void moveAlong(const Steps &steps, int64_t last);

  MutableArrayRef<Shipment> shipments;
  SmallVector<int64_t> sent;                ///< [device] bytes
  SmallVector<SmallVector<size_t>> carried; ///< [device] shipments
  SmallVector<unsigned> peers;              ///< [device] that it sends to
  /// Shipments of a device to another one, where there are any.
  llvm::DenseMap<std::pair<int64_t, int64_t>, unsigned> between;
};
} // namespace

Leveller::Leveller(MutableArrayRef<Shipment> shipments, int64_t devices)
    : shipments(shipments), sent(devices), carried(devices), peers(devices) {
  for (auto [number, shipment] : llvm::enumerate(shipments)) {
    sent[shipment.sender] += shipment.bytes;
    carried[shipment.sender].push_back(number);
    peers[shipment.sender] +=
        between[{shipment.sender, shipment.receiver}]++ == 0;
  }
}

int64_t Leveller::findTaker(const Shipment &shipment, const Steps &steps,
                            int64_t limit) const {
  int64_t best = -1;
  std::tuple<bool, unsigned, int64_t> least;
  for (int64_t device : shipment.senders) {
    if (sent[device] + shipment.bytes >= limit || steps.contains(device))
      continue;
    const std::tuple cost(!between.contains({device, shipment.receiver}),
                          peers[device], sent[device]);
    if (best < 0 || cost < least)
      std::tie(best, least) = std::tie(device, cost);
  }
  return best;
}

void Leveller::move(size_t number, int64_t to) {
  Shipment &shipment = shipments[number];
  if (auto pair = between.find({shipment.sender, shipment.receiver});
      --pair->second == 0) {
    between.erase(pair);
    --peers[shipment.sender];
  }
  peers[to] += between[{to, shipment.receiver}]++ == 0;
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
      if (const int64_t taker = findTaker(shipment, steps, limit); taker >= 0) {
        steps[taker] = {number, from};
        moveAlong(steps, taker);
        return true;
      }
      for (int64_t to : shipment.senders)
        if (to != busiest && steps.try_emplace(to, Step{number, from}).second)
          reached.push_back(to);
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
