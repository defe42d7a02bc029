//===- Relays.cpp - Devices that forward what they received ---------------===//

#include "Relays.h"

#include "Egress.h"

#include "llvm/ADT/DenseSet.h"

#include <map>

using namespace etc;
using llvm::ArrayRef;
using llvm::MutableArrayRef;
using llvm::SmallVector;

namespace {
/// The end of a chain is so many rounds later than its beginning, at most.
constexpr unsigned mostHops = 8;
/// Relays that leave more than this of what it would be without them are not
/// worth their rounds.
constexpr int64_t worthwhilePercent = 75;
/// Chains, and trees that are less deep.
constexpr unsigned fanOuts[] = {1, 2, 3, 4};
/// Bytes between nodes that differ by less do not decide between relays.
constexpr int64_t alikePercent = 102;

/// How a device that has a fragment is chosen.
struct RelayRule {
  /// How often it may send it before others that have it do.
  unsigned fanOut;
  /// Whether nodes are entered early, so that hops are left within them, or by
  /// those that have sent least.
  bool entersEarly;
};

/// Chooses among holders and those that have been served.
class Relays {
public:
  /// `owed`: what devices have to send as holders, in bytes.
  Relays(const Devices &devices, ArrayRef<int64_t> owed, RelayRule rule)
      : devices(devices), owed(owed), rule(rule), sent(devices.size()) {}

  Transfers choose(const Fragment &fragment, ArrayRef<int64_t> destinations,
                   ArrayRef<int64_t> holders);

private:
  struct Candidate {
    int64_t device;
    unsigned hop;
    unsigned given = 0; ///< how often it sends the fragment
  };
  /// Who has the fragment at hand, in all and by node.
  struct Candidates {
    SmallVector<Candidate> list;
    llvm::DenseMap<int64_t, SmallVector<unsigned>> onNode;
  };
  void add(Candidates &candidates, Candidate candidate) const;
  Candidate &findNearest(Candidates &candidates, int64_t destination) const;
  bool isBetter(const Candidate &a, const Candidate &b, bool isFar) const;

  const Devices &devices;
  const ArrayRef<int64_t> owed;
  const RelayRule rule;
  SmallVector<int64_t> sent; ///< [device] bytes so far
};

/// All demands, and what their transfers cost.
class SourceChooser {
public:
  SourceChooser(const Demands &demands, const Devices &devices,
                const Holdings &prev)
      : demands(demands), devices(devices), prev(prev),
        order(demands.inOrder(prev.hasRanges())) {}

  SourceChoice chooseHolders() const;
  /// The same transfers from other holders, where the busiest port sends.
  SourceChoice level(SourceChoice choice) const;
  SourceChoice chooseRelays(RelayRule rule) const;
  /// What no relays of whole fragments can go below.
  SourceCost leastCost() const;

private:
  /// [device] bytes of which holders send at least one copy, by and large.
  SmallVector<int64_t> findOwed() const;
  SmallVector<SmallVector<unsigned>> groupDemands() const;
  SourceCost costOf(ArrayRef<Transfers> transfers) const;

  const Demands &demands;
  const Devices &devices;
  const Holdings &prev;
  const SmallVector<unsigned> order;
};
} // namespace

void Relays::add(Candidates &candidates, Candidate candidate) const {
  candidates.onNode[devices.getNode(candidate.device)].push_back(
      candidates.list.size());
  candidates.list.push_back(candidate);
}

/// Those that have not sent the fragment often, of them the ones that have sent
/// least of all.
bool Relays::isBetter(const Candidate &a, const Candidate &b,
                      bool isFar) const {
  auto rank = [&](const Candidate &candidate) {
    const unsigned beyond =
        candidate.given < rule.fanOut ? 0 : candidate.given - rule.fanOut + 1;
    return std::tuple(beyond, isFar && rule.entersEarly ? candidate.hop : 0,
                      sent[candidate.device], candidate.hop, candidate.device);
  };
  return rank(a) < rank(b);
}

/// On the destination's node first, so that a fragment comes to a node once.
Relays::Candidate &Relays::findNearest(Candidates &candidates,
                                       int64_t destination) const {
  MutableArrayRef<Candidate> list = candidates.list;
  auto near = candidates.onNode.find(devices.getNode(destination));
  if (near == candidates.onNode.end())
    return *llvm::min_element(list,
                              [&](const Candidate &a, const Candidate &b) {
                                return isBetter(a, b, /*isFar=*/true);
                              });
  return list[*llvm::min_element(near->second, [&](unsigned a, unsigned b) {
    return isBetter(list[a], list[b], /*isFar=*/false);
  })];
}

/// Those that have much to send themselves come last, where none relies on
/// them.
Transfers Relays::choose(const Fragment &fragment,
                         ArrayRef<int64_t> destinations,
                         ArrayRef<int64_t> holders) {
  Candidates candidates;
  for (int64_t holder : holders)
    add(candidates, {holder, /*hop=*/0});
  auto order = llvm::to_vector(llvm::seq<size_t>(destinations.size()));
  llvm::sort(order, [&](size_t a, size_t b) {
    return std::pair(owed[destinations[a]], destinations[a]) <
           std::pair(owed[destinations[b]], destinations[b]);
  });
  Transfers sources(destinations.size());
  for (size_t place : order) {
    const int64_t destination = destinations[place];
    Candidate &nearest = findNearest(candidates, destination);
    sources[place] = {nearest.device, nearest.hop};
    sent[nearest.device] += fragment.bytes;
    ++nearest.given;
    if (const unsigned hop = nearest.hop + 1; hop <= mostHops)
      add(candidates, {destination, hop});
  }
  return sources;
}

/// What a device lacks is another fragment than what a device with another
/// previous role does, but often the same pieces.
static bool isLess(const Fragment *a, const Fragment *b) {
  auto typesOf = [](const Fragment &fragment) {
    return SmallVector<unsigned>(fragment.types.set_bits());
  };
  auto first = std::tie(a->tied, a->bytes, a->holders, a->pieces),
       second = std::tie(b->tied, b->bytes, b->holders, b->pieces);
  return first != second ? first < second : typesOf(*a) < typesOf(*b);
}

SourceChoice SourceChooser::chooseHolders() const {
  Sources sources(devices, prev);
  SmallVector<Transfers> transfers(demands.size());
  for (unsigned number : order)
    transfers[number] =
        sources.choose(*demands[number].fragment, demands[number].destinations);
  const SourceCost cost = costOf(transfers);
  return {std::move(transfers), cost};
}

SourceChoice SourceChooser::level(SourceChoice choice) const {
  choice.leastBusiest = choice.cost.received;
  if (choice.cost.sent <= choice.cost.received)
    return choice;
  const Sources sources(devices, prev);
  std::vector<Shipment> shipments;
  for (auto [number, chosen] : llvm::enumerate(choice.transfers)) {
    const Demand &demand = demands[number];
    SmallVector<int64_t> holders = sources.findHolders(*demand.fragment);
    for (auto [destination, source] :
         llvm::zip_equal(demand.destinations, chosen)) {
      auto isNear = [&, node = devices.getNode(destination)](int64_t holder) {
        return devices.getNode(holder) == node;
      };
      auto near = llvm::to_vector(llvm::make_filter_range(holders, isNear));
      shipments.push_back({demand.fragment->bytes,
                           near.empty() ? holders : near, source.device});
    }
  }
  levelEgress(shipments, devices.size(), choice.cost.received);
  choice.leastBusiest =
      std::max(choice.leastBusiest, findLeastEgress(shipments, devices.size()));
  ArrayRef<Shipment> rest = shipments;
  for (Transfers &chosen : choice.transfers)
    for (Source &source : chosen) {
      source.device = rest.front().sender;
      rest = rest.drop_front();
    }
  choice.cost = costOf(choice.transfers);
  return choice;
}

SmallVector<int64_t> SourceChooser::findOwed() const {
  const Sources sources(devices, prev);
  SmallVector<int64_t> owed(devices.size());
  for (unsigned number : order) {
    const Fragment &fragment = *demands[number].fragment;
    SmallVector<int64_t> holders = sources.findHolders(fragment);
    for (int64_t holder : holders)
      owed[holder] += fragment.bytes / holders.size();
  }
  return owed;
}

/// Demands for the same pieces, one after the other.
SmallVector<SmallVector<unsigned>> SourceChooser::groupDemands() const {
  std::map<const Fragment *, size_t, decltype(&isLess)> numbers(&isLess);
  SmallVector<SmallVector<unsigned>> groups;
  for (unsigned number : order) {
    auto [entry, isNew] =
        numbers.try_emplace(demands[number].fragment, groups.size());
    if (isNew)
      groups.emplace_back();
    groups[entry->second].push_back(number);
  }
  return groups;
}

SourceChoice SourceChooser::chooseRelays(RelayRule rule) const {
  const Sources sources(devices, prev);
  SmallVector<int64_t> owed = findOwed();
  Relays relays(devices, owed, rule);
  SmallVector<Transfers> transfers(demands.size());
  for (ArrayRef<unsigned> group : groupDemands()) {
    const Fragment &fragment = *demands[group.front()].fragment;
    SmallVector<int64_t> destinations;
    for (unsigned number : group)
      llvm::append_range(destinations, demands[number].destinations);
    Transfers chosen =
        relays.choose(fragment, destinations, sources.findHolders(fragment));
    ArrayRef<Source> rest = chosen;
    for (unsigned number : group) {
      const size_t count = demands[number].destinations.size();
      llvm::append_range(transfers[number], rest.take_front(count));
      rest = rest.drop_front(count);
    }
  }
  const SourceCost cost = costOf(transfers);
  return {std::move(transfers), cost, /*hasRelays=*/true};
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

SourceCost SourceChooser::costOf(ArrayRef<Transfers> transfers) const {
  SourceCost cost;
  SmallVector<int64_t> sent(devices.size()), received(devices.size());
  for (auto [number, sources] : llvm::enumerate(transfers)) {
    const int64_t bytes = demands[number].fragment->bytes;
    for (auto [destination, source] :
         llvm::zip_equal(demands[number].destinations, sources)) {
      if (devices.getNode(destination) != devices.getNode(source.device))
        cost.internode += bytes;
      sent[source.device] += bytes;
      received[destination] += bytes;
    }
  }
  cost.sent = *llvm::max_element(sent);
  cost.received = *llvm::max_element(received);
  return cost;
}

SourceCost SourceChooser::leastCost() const {
  const Sources sources(devices, prev);
  SourceCost cost;
  SmallVector<int64_t> received(devices.size());
  for (ArrayRef<unsigned> group : groupDemands()) {
    const Fragment &fragment = *demands[group.front()].fragment;
    llvm::DenseSet<int64_t> reached;
    for (int64_t holder : sources.findHolders(fragment))
      reached.insert(devices.getNode(holder));
    for (unsigned number : group)
      for (int64_t destination : demands[number].destinations) {
        received[destination] += fragment.bytes;
        if (reached.insert(devices.getNode(destination)).second)
          cost.internode += fragment.bytes;
      }
  }
  cost.received = *llvm::max_element(received);
  return cost;
}

bool SourceCost::isWorthwhile(const SourceCost &other, int64_t percent) const {
  auto isMuchLess = [&](int64_t mine, int64_t its) {
    return mine < its && static_cast<__int128>(mine) * 100 <=
                             static_cast<__int128>(its) * percent;
  };
  const int64_t busiest = getBusiest(), itsBusiest = other.getBusiest();
  return internode <= other.internode && busiest <= itsBusiest &&
         (isMuchLess(internode, other.internode) ||
          isMuchLess(busiest, itsBusiest));
}

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

SourceChoice etc::chooseHolders(const Demands &demands, const Devices &devices,
                                const Holdings &prev) {
  return SourceChooser(demands, devices, prev).chooseHolders();
}

/// Of relays that are worth it, those with the least busiest port among those
/// with about the least bytes between nodes.
static bool isBetter(const SourceCost &one, const SourceCost &other) {
  auto isAbout = [](int64_t a, int64_t b) {
    return static_cast<__int128>(a) * 100 <=
           static_cast<__int128>(b) * alikePercent;
  };
  const bool areAlike = isAbout(one.internode, other.internode) &&
                        isAbout(other.internode, one.internode);
  return areAlike && one.getBusiest() != other.getBusiest()
             ? one.getBusiest() < other.getBusiest()
             : one.internode < other.internode;
}

SourceChoice etc::chooseSources(const Demands &demands, const Devices &devices,
                                const Holdings &prev) {
  const SourceChooser chooser(demands, devices, prev);
  SourceChoice direct = chooser.level(chooser.chooseHolders());
  if (!chooser.leastCost().isWorthwhile(direct.cost, worthwhilePercent))
    return direct;
  std::optional<SourceChoice> best;
  for (unsigned fanOut : fanOuts)
    for (bool entersEarly : {true, false}) {
      SourceChoice relayed = chooser.chooseRelays({fanOut, entersEarly});
      if (relayed.cost.isWorthwhile(direct.cost, worthwhilePercent) &&
          (!best || isBetter(relayed.cost, best->cost)))
        best = std::move(relayed);
    }
  return best ? std::move(*best) : std::move(direct);
}
