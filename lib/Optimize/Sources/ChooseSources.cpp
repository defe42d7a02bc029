//===- ChooseSources.cpp - Who sends what every device lacks --------------===//

#include "ChooseSources.h"

#include "EgressFlow.h"
#include "Relays.h"
#include "Sources.h"

#include "llvm/ADT/DenseSet.h"

using namespace etc;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {
/// Relays that leave more than this of what it would be without them are not
/// worth their rounds.
constexpr int64_t worthwhilePercent = 75;
/// Chains, and trees that are less deep.
constexpr unsigned fanOuts[] = {1, 2, 3, 4};
/// Bytes between nodes that differ by less do not decide between relays.
constexpr int64_t alikePercent = 102;

/// All demands, and what their transfers cost.
class SourceChooser {
public:
  SourceChooser(const Demands &demands, const Fleet &fleet)
      : demands(demands), fleet(fleet),
        order(demands.inOrder(fleet.hasRanges())) {}

  SourceChoice chooseHolders() const;
  /// The same transfers from other holders, where the busiest port sends.
  SourceChoice level(SourceChoice choice) const;
  SourceChoice chooseRelays(RelayRule rule) const;
  /// What no relays of whole fragments can go below.
  SourceCost leastCost() const;

private:
  /// [device] bytes of which holders send at least one copy, by and large.
  SmallVector<int64_t> findOwed() const;

  const Demands &demands;
  const Fleet &fleet;
  const SmallVector<unsigned> order;
};
} // namespace

//===----------------------------------------------------------------------===//
// Transfers
//===----------------------------------------------------------------------===//

SourceCost etc::costOf(const Demands &demands, const Fleet &fleet,
                       ArrayRef<SourceList> transfers) {
  SourceCost cost;
  SmallVector<int64_t> sent(fleet.size()), received(fleet.size());
  for (auto [number, sources] : llvm::enumerate(transfers)) {
    const int64_t bytes = demands[number].fragment->bytes;
    for (auto [destination, source] :
         llvm::zip_equal(demands[number].destinations, sources)) {
      if (fleet.getNode(destination) != fleet.getNode(source.device))
        cost.internode += bytes;
      sent[source.device] += bytes;
      received[destination] += bytes;
    }
  }
  cost.sent = *llvm::max_element(sent);
  cost.received = *llvm::max_element(received);
  return cost;
}

std::vector<Shipment> etc::findShipments(const Demands &demands,
                                         const Fleet &fleet,
                                         ArrayRef<SourceList> transfers) {
  std::vector<Shipment> shipments;
  for (auto [number, chosen] : llvm::enumerate(transfers)) {
    const Demand &demand = demands[number];
    SmallVector<int64_t> holders = fleet.findHolders(*demand.fragment);
    for (auto [destination, source] :
         llvm::zip_equal(demand.destinations, chosen)) {
      auto isNear = [&, node = fleet.getNode(destination)](int64_t holder) {
        return fleet.getNode(holder) == node;
      };
      auto near = llvm::to_vector(llvm::make_filter_range(holders, isNear));
      shipments.push_back({demand.fragment->bytes,
                           near.empty() ? holders : near, source.device,
                           destination});
    }
  }
  return shipments;
}

//===----------------------------------------------------------------------===//
// Holders and relays
//===----------------------------------------------------------------------===//

SourceChoice SourceChooser::chooseHolders() const {
  Sources sources(fleet);
  std::vector<SourceList> transfers(demands.size());
  for (unsigned number : order)
    transfers[number] =
        sources.choose(*demands[number].fragment, demands[number].destinations);
  const SourceCost cost = costOf(demands, fleet, transfers);
  return {std::move(transfers), cost};
}

SourceChoice SourceChooser::level(SourceChoice choice) const {
  choice.leastBusiest = choice.cost.received;
  if (choice.cost.sent <= choice.cost.received)
    return choice;
  std::vector<Shipment> shipments =
      findShipments(demands, fleet, choice.sources);
  levelEgress(shipments, fleet.size(), choice.cost.received);
  choice.leastBusiest = findLeastEgress(poolShipments(shipments), fleet.size(),
                                        choice.cost.received);
  ArrayRef<Shipment> rest = shipments;
  for (SourceList &chosen : choice.sources)
    for (Source &source : chosen) {
      source.device = rest.front().sender;
      rest = rest.drop_front();
    }
  choice.cost = costOf(demands, fleet, choice.sources);
  return choice;
}

SmallVector<int64_t> SourceChooser::findOwed() const {
  SmallVector<int64_t> owed(fleet.size());
  for (unsigned number : order) {
    const Fragment &fragment = *demands[number].fragment;
    SmallVector<int64_t> holders = fleet.findHolders(fragment);
    for (int64_t holder : holders)
      owed[holder] += fragment.bytes / holders.size();
  }
  return owed;
}

SourceChoice SourceChooser::chooseRelays(RelayRule rule) const {
  SmallVector<int64_t> owed = findOwed();
  Relays relays(fleet, owed, rule);
  std::vector<SourceList> transfers(demands.size());
  for (ArrayRef<unsigned> group : demands.groupAlike(fleet.hasRanges())) {
    const Fragment &fragment = *demands[group.front()].fragment;
    SmallVector<int64_t> destinations;
    for (unsigned number : group)
      llvm::append_range(destinations, demands[number].destinations);
    SourceList chosen =
        relays.choose(fragment, destinations, fleet.findHolders(fragment));
    ArrayRef<Source> rest = chosen;
    for (unsigned number : group) {
      const size_t count = demands[number].destinations.size();
      llvm::append_range(transfers[number], rest.take_front(count));
      rest = rest.drop_front(count);
    }
  }
  const SourceCost cost = costOf(demands, fleet, transfers);
  return {std::move(transfers), cost, /*hasRelays=*/true};
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

SourceCost SourceChooser::leastCost() const {
  SourceCost cost;
  SmallVector<int64_t> received(fleet.size());
  for (ArrayRef<unsigned> group : demands.groupAlike(fleet.hasRanges())) {
    const Fragment &fragment = *demands[group.front()].fragment;
    llvm::DenseSet<int64_t> reached;
    for (int64_t holder : fleet.findHolders(fragment))
      reached.insert(fleet.getNode(holder));
    for (unsigned number : group)
      for (int64_t destination : demands[number].destinations) {
        received[destination] += fragment.bytes;
        if (reached.insert(fleet.getNode(destination)).second)
          cost.internode += fragment.bytes;
      }
  }
  cost.received = *llvm::max_element(received);
  return cost;
}

/// Whether `a` is hardly more than `b`.
static bool isAboutMost(int64_t a, int64_t b) {
  return static_cast<__int128>(a) * 100 <=
         static_cast<__int128>(b) * alikePercent;
}

bool SourceCost::isWorthwhile(const SourceCost &other, int64_t percent) const {
  auto isMuchLess = [&](int64_t mine, int64_t its) {
    return mine < its && static_cast<__int128>(mine) * 100 <=
                             static_cast<__int128>(its) * percent;
  };
  const int64_t busiest = getBusiest(), itsBusiest = other.getBusiest();
  return internode <= other.internode && isAboutMost(busiest, itsBusiest) &&
         (isMuchLess(internode, other.internode) ||
          isMuchLess(busiest, itsBusiest));
}

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

SourceChoice etc::chooseHolders(const Demands &demands, const Fleet &fleet) {
  return SourceChooser(demands, fleet).chooseHolders();
}

/// Of relays that are worth it, those with the least busiest port among those
/// with about the least bytes between nodes.
static bool isBetter(const SourceCost &one, const SourceCost &other) {
  const bool areAlike = isAboutMost(one.internode, other.internode) &&
                        isAboutMost(other.internode, one.internode);
  return areAlike && one.getBusiest() != other.getBusiest()
             ? one.getBusiest() < other.getBusiest()
             : one.internode < other.internode;
}

SourceChoice etc::chooseSources(const Demands &demands, const Fleet &fleet) {
  const SourceChooser chooser(demands, fleet);
  SourceChoice direct = chooser.level(chooser.chooseHolders());
  // Fragments can still be cut until the egress is the least.
  SourceCost levelled = direct.cost;
  levelled.sent = std::min(levelled.sent, direct.leastBusiest);
  if (!chooser.leastCost().isWorthwhile(levelled, worthwhilePercent))
    return direct;
  std::optional<SourceChoice> best;
  for (unsigned fanOut : fanOuts)
    for (bool entersEarly : {true, false}) {
      SourceChoice relayed = chooser.chooseRelays({fanOut, entersEarly});
      if (relayed.cost.isWorthwhile(levelled, worthwhilePercent) &&
          (!best || isBetter(relayed.cost, best->cost)))
        best = std::move(relayed);
    }
  return best ? std::move(*best) : std::move(direct);
}
