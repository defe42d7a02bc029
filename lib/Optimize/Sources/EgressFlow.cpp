//===- EgressFlow.cpp - The least egress as a flow ------------------------===//

#include "EgressFlow.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cassert>
#include <map>

using namespace etc;
using llvm::ArrayRef;
using llvm::MutableArrayRef;
using llvm::SmallVector;

std::vector<Lot> etc::poolShipments(ArrayRef<Shipment> shipments) {
  std::map<SmallVector<int64_t>, size_t> numbers;
  std::vector<Lot> lots;
  for (auto [number, shipment] : llvm::enumerate(shipments)) {
    auto [entry, isNew] = numbers.try_emplace(shipment.senders, lots.size());
    if (isNew)
      lots.push_back({shipment.senders,
                      SmallVector<int64_t>(shipment.senders.size()),
                      {}});
    Lot &lot = lots[entry->second];
    lot.shipments.push_back(number);
    lot.shares[llvm::find(lot.senders, shipment.sender) -
               lot.senders.begin()] += shipment.bytes;
  }
  return lots;
}

namespace {
/// Dinic's algorithm on the residual graph that the shares are: from a device
/// to the lots it sends of, as much as it sends, and on to all their senders.
class EgressFlow {
public:
  EgressFlow(MutableArrayRef<Lot> lots, int64_t devices);

  /// Moves what it can from devices above the limit to those below it; returns
  /// whether none is left above.
  bool settle(int64_t limit);
  /// The mean of the devices that those above the limit reach, rounded up: what
  /// they send nobody else may. Valid after `settle` has failed.
  int64_t findMean() const;

private:
  /// Numbers devices and lots by their distance from the devices above the
  /// limit; returns whether one of the former is below it.
  bool findDistances();
  int64_t push(int64_t device, int64_t bytes);
  int64_t pushInto(size_t lot, size_t from, int64_t bytes);

  /// One of a lot's senders.
  struct Seat {
    size_t lot, place;
  };
  static constexpr int far = -1;

  MutableArrayRef<Lot> lots;
  std::vector<SmallVector<Seat>> seats; ///< [device]
  std::vector<int64_t> sent;            ///< [device] bytes
  std::vector<int> ofDevice, ofLot;     ///< distances
  std::vector<size_t> nextSeat;         ///< [device], those before are used up
  std::vector<size_t> nextSender;       ///< [lot]
  int64_t limit = 0;
};
} // namespace

EgressFlow::EgressFlow(MutableArrayRef<Lot> lots, int64_t devices)
    : lots(lots), seats(devices), sent(devices) {
  for (auto [number, lot] : llvm::enumerate(lots))
    for (auto [place, sender] : llvm::enumerate(lot.senders)) {
      seats[sender].push_back({number, place});
      sent[sender] += lot.shares[place];
    }
}

bool EgressFlow::findDistances() {
  ofDevice.assign(sent.size(), far);
  ofLot.assign(lots.size(), far);
  nextSeat.assign(sent.size(), 0);
  nextSender.assign(lots.size(), 0);
  std::vector<int64_t> reached;
  for (auto [device, bytes] : llvm::enumerate(sent))
    if (bytes > limit) {
      ofDevice[device] = 0;
      reached.push_back(device);
    }
  bool isRelieved = false;
  for (size_t next = 0; next < reached.size(); ++next) {
    const int64_t device = reached[next];
    for (auto [lot, place] : seats[device]) {
      if (ofLot[lot] != far || lots[lot].shares[place] == 0)
        continue;
      ofLot[lot] = ofDevice[device];
      for (int64_t sender : lots[lot].senders)
        if (ofDevice[sender] == far) {
          ofDevice[sender] = ofDevice[device] + 1;
          isRelieved |= sent[sender] < limit;
          reached.push_back(sender);
        }
    }
  }
  return isRelieved;
}

int64_t EgressFlow::pushInto(size_t number, size_t from, int64_t bytes) {
  Lot &lot = lots[number];
  for (size_t &next = nextSender[number]; next < lot.senders.size(); ++next) {
    if (ofDevice[lot.senders[next]] != ofLot[number] + 1)
      continue;
    const int64_t pushed =
        push(lot.senders[next], std::min(bytes, lot.shares[from]));
    lot.shares[from] -= pushed;
    lot.shares[next] += pushed;
    if (pushed > 0)
      return pushed;
  }
  return 0;
}

/// Passes up to `bytes` on to a device below the limit; returns how many.
int64_t EgressFlow::push(int64_t device, int64_t bytes) {
  if (sent[device] < limit) {
    bytes = std::min(bytes, limit - sent[device]);
    sent[device] += bytes;
    return bytes;
  }
  for (size_t &next = nextSeat[device]; next < seats[device].size(); ++next) {
    const auto [lot, place] = seats[device][next];
    if (ofLot[lot] != ofDevice[device] || lots[lot].shares[place] == 0)
      continue;
    if (const int64_t pushed = pushInto(lot, place, bytes))
      return pushed;
  }
  return 0;
}

bool EgressFlow::settle(int64_t newLimit) {
  limit = newLimit;
  while (findDistances())
    for (size_t device = 0; device < sent.size(); ++device)
      while (sent[device] > limit) {
        const int64_t pushed = push(device, sent[device] - limit);
        if (pushed == 0)
          break;
        sent[device] -= pushed;
      }
  return llvm::all_of(sent, [&](int64_t bytes) { return bytes <= limit; });
}

int64_t EgressFlow::findMean() const {
  int64_t bytes = 0, devices = 0;
  for (auto [distance, ofOne] : llvm::zip_equal(ofDevice, sent))
    if (distance != far) {
      bytes += ofOne;
      ++devices;
    }
  return llvm::divideCeil(bytes, devices);
}

int64_t etc::findLeastEgress(std::vector<Lot> lots, int64_t devices,
                             int64_t enough) {
  EgressFlow flow(lots, devices);
  while (!flow.settle(enough))
    enough = flow.findMean();
  return enough;
}

void etc::spreadEgress(MutableArrayRef<Lot> lots, int64_t devices,
                       int64_t limit) {
  [[maybe_unused]] bool isMet = EgressFlow(lots, devices).settle(limit);
  assert(isMet && "the limit is below the least egress");
}
