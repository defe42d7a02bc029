//===- Relays.cpp - Devices that forward what they received ---------------===//

#include "Relays.h"

#include "llvm/ADT/DenseSet.h"

#include <map>

using namespace etc;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {
/// The end of a chain is so many rounds later than its beginning, at most.
constexpr unsigned mostHops = 8;
/// Relays that leave more than this of what it would be without them are not
/// worth their rounds.
constexpr int64_t worthwhilePercent = 75;
/// How often a device may send a fragment before others that have it do: a
/// chain, and trees that are less deep.
constexpr unsigned fanOuts[] = {1, 2, 3, 4};

/// What a choice of sources costs, the more important first.
struct Cost {
  int64_t internode = 0; ///< bytes
  int64_t busiest = 0;   ///< bytes that one device sends or receives
  auto operator<=>(const Cost &) const = default;
};

/// Chooses among holders and those that have been served.
class Relays {
public:
  /// `owed`: what devices have to send as holders, in bytes.
  Relays(const Devices &devices, ArrayRef<int64_t> owed, unsigned fanOut)
      : devices(devices), owed(owed), fanOut(fanOut), sent(devices.size()) {}

  Transfers choose(const Demand &demand, ArrayRef<int64_t> holders);

private:
  struct Candidate {
    int64_t device;
    unsigned hop;
    unsigned given = 0; ///< how often it sends the fragment
  };
  Candidate &findNearest(SmallVector<Candidate> &candidates,
                         int64_t destination) const;

  const Devices &devices;
  const ArrayRef<int64_t> owed;
  const unsigned fanOut;
  SmallVector<int64_t> sent; ///< [device] bytes so far
};

/// All demands, and what their transfers cost.
class SourceChooser {
public:
  SourceChooser(ArrayRef<Demand> demands, const Devices &devices,
                const Holdings &prev)
      : demands(demands), devices(devices), prev(prev) {}

  SmallVector<Transfers> chooseHolders() const;
  SmallVector<Transfers> chooseRelays(unsigned fanOut) const;
  /// [device] bytes of which holders send at least one copy, by and large.
  SmallVector<int64_t> findOwed() const;
  Cost costOf(ArrayRef<Transfers> transfers) const;
  SmallVector<SmallVector<size_t>> groupDemands() const;
  /// What no relays of whole fragments can go below.
  Cost leastCost() const;

private:
  const ArrayRef<Demand> demands;
  const Devices &devices;
  const Holdings &prev;
};
} // namespace

/// On the destination's node first, so that a fragment comes to a node once;
/// then those that have not sent it often, of them the ones that have sent
/// least of all.
Relays::Candidate &Relays::findNearest(SmallVector<Candidate> &candidates,
                                       int64_t destination) const {
  auto distance = [&](const Candidate &candidate) {
    const bool isFar =
        devices.getNode(candidate.device) != devices.getNode(destination);
    const unsigned beyond =
        candidate.given < fanOut ? 0 : candidate.given - fanOut + 1;
    return std::tuple(isFar, beyond, sent[candidate.device], candidate.hop,
                      candidate.device);
  };
  return *llvm::min_element(candidates,
                            [&](const Candidate &a, const Candidate &b) {
                              return distance(a) < distance(b);
                            });
}

/// Those that have much to send themselves come last, where none relies on
/// them.
Transfers Relays::choose(const Demand &demand, ArrayRef<int64_t> holders) {
  SmallVector<Candidate> candidates;
  for (int64_t holder : holders)
    candidates.push_back({holder, /*hop=*/0});
  ArrayRef<int64_t> destinations = demand.destinations;
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
    sent[nearest.device] += demand.fragment->bytes;
    ++nearest.given;
    if (const unsigned hop = nearest.hop + 1; hop <= mostHops)
      candidates.push_back({destination, hop});
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

SmallVector<Transfers> SourceChooser::chooseHolders() const {
  Sources sources(devices, prev);
  SmallVector<Transfers> transfers;
  for (const Demand &demand : demands)
    transfers.push_back(sources.choose(*demand.fragment, demand.destinations));
  return transfers;
}

SmallVector<int64_t> SourceChooser::findOwed() const {
  const Sources sources(devices, prev);
  SmallVector<int64_t> owed(devices.size());
  for (const Demand &demand : demands) {
    SmallVector<int64_t> holders = sources.findHolders(*demand.fragment);
    for (int64_t holder : holders)
      owed[holder] += demand.fragment->bytes / holders.size();
  }
  return owed;
}

/// Demands for the same pieces, one after the other.
SmallVector<SmallVector<size_t>> SourceChooser::groupDemands() const {
  std::map<const Fragment *, size_t, decltype(&isLess)> numbers(&isLess);
  SmallVector<SmallVector<size_t>> groups;
  for (auto [number, demand] : llvm::enumerate(demands)) {
    auto [entry, isNew] = numbers.try_emplace(demand.fragment, groups.size());
    if (isNew)
      groups.emplace_back();
    groups[entry->second].push_back(number);
  }
  return groups;
}

SmallVector<Transfers> SourceChooser::chooseRelays(unsigned fanOut) const {
  const Sources sources(devices, prev);
  SmallVector<int64_t> owed = findOwed();
  Relays relays(devices, owed, fanOut);
  SmallVector<Transfers> transfers(demands.size());
  for (ArrayRef<size_t> group : groupDemands()) {
    const Fragment &fragment = *demands[group.front()].fragment;
    SmallVector<int64_t> destinations;
    for (size_t number : group)
      llvm::append_range(destinations, demands[number].destinations);
    Transfers chosen =
        relays.choose({&fragment, destinations}, sources.findHolders(fragment));
    ArrayRef<Source> rest = chosen;
    for (size_t number : group) {
      const size_t count = demands[number].destinations.size();
      llvm::append_range(transfers[number], rest.take_front(count));
      rest = rest.drop_front(count);
    }
  }
  return transfers;
}

Cost SourceChooser::costOf(ArrayRef<Transfers> transfers) const {
  Cost cost;
  SmallVector<int64_t> sent(devices.size()), received(devices.size());
  for (auto [demand, sources] : llvm::zip_equal(demands, transfers))
    for (auto [destination, source] :
         llvm::zip_equal(demand.destinations, sources)) {
      const int64_t bytes = demand.fragment->bytes;
      if (devices.getNode(destination) != devices.getNode(source.device))
        cost.internode += bytes;
      sent[source.device] += bytes;
      received[destination] += bytes;
    }
  for (ArrayRef<int64_t> bytes : {ArrayRef(sent), ArrayRef(received)})
    cost.busiest = std::max(cost.busiest, *llvm::max_element(bytes));
  return cost;
}

Cost SourceChooser::leastCost() const {
  const Sources sources(devices, prev);
  Cost cost;
  SmallVector<int64_t> received(devices.size());
  for (const Demand &demand : demands) {
    llvm::DenseSet<int64_t> reached;
    for (int64_t holder : sources.findHolders(*demand.fragment))
      reached.insert(devices.getNode(holder));
    for (int64_t destination : demand.destinations) {
      received[destination] += demand.fragment->bytes;
      if (reached.insert(devices.getNode(destination)).second)
        cost.internode += demand.fragment->bytes;
    }
  }
  cost.busiest = *llvm::max_element(received);
  return cost;
}

/// Worse in nothing, and much better in something.
static bool isWorthwhile(const Cost &relayed, const Cost &direct) {
  auto isMuchLess = [](int64_t one, int64_t other) {
    return one < other && static_cast<__int128>(one) * 100 <=
                              static_cast<__int128>(other) * worthwhilePercent;
  };
  return relayed.internode <= direct.internode &&
         relayed.busiest <= direct.busiest &&
         (isMuchLess(relayed.internode, direct.internode) ||
          isMuchLess(relayed.busiest, direct.busiest));
}

SmallVector<Transfers> etc::chooseHolders(ArrayRef<Demand> demands,
                                          const Devices &devices,
                                          const Holdings &prev) {
  return SourceChooser(demands, devices, prev).chooseHolders();
}

SmallVector<Transfers> etc::chooseSources(ArrayRef<Demand> demands,
                                          const Devices &devices,
                                          const Holdings &prev) {
  const SourceChooser chooser(demands, devices, prev);
  SmallVector<Transfers> direct = chooser.chooseHolders();
  const Cost directCost = chooser.costOf(direct);
  if (!isWorthwhile(chooser.leastCost(), directCost))
    return direct;
  std::optional<SmallVector<Transfers>> best;
  Cost leastCost = directCost;
  for (unsigned fanOut : fanOuts) {
    SmallVector<Transfers> relayed = chooser.chooseRelays(fanOut);
    const Cost cost = chooser.costOf(relayed);
    if (cost < leastCost && isWorthwhile(cost, directCost)) {
      best = std::move(relayed);
      leastCost = cost;
    }
  }
  return best ? std::move(*best) : std::move(direct);
}
