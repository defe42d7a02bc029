//===- SpreadSources.cpp - Several senders of one fragment ----------------===//

#include "SpreadSources.h"

#include "ChooseSources.h"
#include "EgressFlow.h"

#include <map>

using namespace etc;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {
/// What one device sends of a shipment, in bytes.
struct Delivery {
  int64_t sender, bytes;
};
using Deliveries = SmallVector<Delivery, 1>;
} // namespace

/// Divides the shipments of a lot so that its senders come to their shares; who
/// sends one now goes on as far as its share reaches.
static void divide(const Lot &lot, ArrayRef<Shipment> shipments,
                   std::vector<Deliveries> &parts) {
  SmallVector<int64_t> left = lot.shares;
  SmallVector<std::pair<size_t, int64_t>> over; // bytes of shipments
  auto take = [&](size_t number, size_t place, int64_t bytes) {
    const int64_t taken = std::min(bytes, left[place]);
    if (taken > 0)
      parts[number].push_back({lot.senders[place], taken});
    left[place] -= taken;
    return bytes - taken;
  };
  for (size_t number : lot.shipments) {
    const Shipment &shipment = shipments[number];
    const size_t place =
        llvm::find(lot.senders, shipment.sender) - lot.senders.begin();
    if (const int64_t rest = take(number, place, shipment.bytes))
      over.emplace_back(number, rest);
  }
  size_t place = 0;
  for (auto [number, bytes] : over)
    while ((bytes = take(number, place, bytes)) > 0)
      ++place;
}

/// Where a fragment is cut, for one destination: behind these bytes.
static SmallVector<int64_t> cutsOf(ArrayRef<Delivery> parts) {
  SmallVector<int64_t> cuts;
  int64_t bytes = 0;
  for (const Delivery &delivery : parts.drop_back())
    cuts.push_back(bytes += delivery.bytes);
  return cuts;
}

/// Adds a demand in the parts that its destinations receive; those that receive
/// the same parts have them together.
static void addDemand(SourcedDemands &result, const Demand &demand,
                      ArrayRef<Deliveries> parts) {
  std::map<SmallVector<int64_t>, SmallVector<size_t>> byCuts;
  for (auto [place, ofOne] : llvm::enumerate(parts))
    byCuts[cutsOf(ofOne)].push_back(place);
  for (const auto &[cuts, places] : byCuts) {
    SmallVector<int64_t> destinations;
    for (size_t place : places)
      destinations.push_back(demand.destinations[place]);
    for (auto [number, fragment] :
         llvm::enumerate(cutFragment(*demand.fragment, cuts))) {
      if (fragment.pieces.empty())
        continue;
      result.demands.addOwn(std::move(fragment), destinations);
      SourceList &sources = result.choice.sources.emplace_back();
      for (size_t place : places)
        sources.push_back({parts[place][number].sender});
    }
  }
}

SourcedDemands etc::spreadSources(const Demands &demands,
                                  const SourceChoice &choice,
                                  const Fleet &fleet) {
  const std::vector<Shipment> shipments =
      findShipments(demands, fleet, choice.sources);
  std::vector<Lot> lots = poolShipments(shipments);
  spreadEgress(lots, fleet.size(), choice.leastBusiest);
  std::vector<Deliveries> parts(shipments.size());
  for (const Lot &lot : lots)
    divide(lot, shipments, parts);
  SourcedDemands result;
  ArrayRef<Deliveries> rest = parts;
  for (size_t number = 0; number < demands.size(); ++number) {
    const Demand &demand = demands[number];
    addDemand(result, demand, rest.take_front(demand.destinations.size()));
    rest = rest.drop_front(demand.destinations.size());
  }
  result.choice.cost = costOf(result.demands, fleet, result.choice.sources);
  return result;
}
