//===- RouteDemands.cpp - Demands as a routing problem --------------------===//

#include "RouteDemands.h"

#include "ChooseSources.h"
#include "etc/Optimize/Routing/Solver.h"

#include "llvm/ADT/STLExtras.h"

using namespace etc;
using llvm::ArrayRef;
using llvm::SmallVector;

/// Routes that take more than this of the time without them are not worth their
/// hops.
static constexpr int64_t worthwhilePercent = 90;
/// Nor are those that save less than this: it is what some tens of rounds cost,
/// and hops are rounds.
static constexpr routing::Time worthwhileTime = {1, 1000};
/// Less than this is not divided over NICs, in bytes.
static constexpr int64_t smallestWindow = 16 << 20;
/// An atom is divided into about so many parts in all windows at most, counted
/// for each destination: every one of them is an instruction.
static constexpr int64_t mostParts = 150'000;

/// The hops of an atom by receiver.
class Router::Routes {
public:
  void add(const routing::Hop &hop) {
    receipts[hop.to][hop.begin] = &hop;
    breaks.push_back(hop.begin);
    breaks.push_back(hop.end);
  }
  void close() {
    llvm::sort(breaks);
    breaks.erase(llvm::unique(breaks), breaks.end());
  }
  /// Where the atom is divided: its beginning, all cuts, its end.
  ArrayRef<int64_t> getBreaks() const { return breaks; }
  /// Who sends a byte to a device.
  Source findSource(int64_t device, int64_t byte) const;

private:
  std::map<int64_t, std::map<int64_t, const routing::Hop *>> receipts;
  SmallVector<int64_t> breaks;
};

//===----------------------------------------------------------------------===//
// The problem
//===----------------------------------------------------------------------===//

Router::Router(const Demands &demands, const Fleet &fleet,
               const PortRates &rates)
    : demands(demands.splitByTakers()), fleet(fleet) {
  addResources(rates);
  addAtoms();
}

void Router::addResources(const PortRates &rates) {
  std::vector<int32_t> sizes(fleet.getNodeCount());
  for (int64_t device = 0; device < fleet.size(); ++device)
    ++sizes[fleet.getNode(device)];
  for (int32_t size : sizes)
    // More NICs than devices are one for each.
    routing::addNode(problem, size,
                     static_cast<int32_t>(std::min<int64_t>(rates.nics, size)),
                     rates.link, rates.nic);
}

int32_t Router::numberOf(const DeviceSet &set) {
  auto [entry, isNew] = numbers.try_emplace(set, problem.sets.size());
  if (isNew)
    problem.sets.push_back(set);
  return entry->second;
}

/// What a device lacks is often the same as what another one does, and listed
/// apart.
void Router::addAtoms() {
  std::map<std::pair<int32_t, int32_t>, Group> bySets;
  for (const SmallVector<unsigned> &alike :
       demands.groupAlike(fleet.hasRanges())) {
    const Fragment &fragment = *demands[alike.front()].fragment;
    DeviceSet holders, needers;
    for (int64_t device : fleet.findHolders(fragment))
      holders.push_back(device);
    for (unsigned number : alike)
      llvm::append_range(needers, demands[number].destinations);
    llvm::sort(holders);
    llvm::sort(needers);
    Group &group = bySets[{numberOf(holders), numberOf(needers)}];
    llvm::append_range(group.demands, alike);
    group.bytes += fragment.bytes;
  }
  for (routing::Device &device : problem.devices)
    device.status = routing::Status::Spare;
  for (const DeviceSet &set : problem.sets)
    for (int32_t device : set)
      problem.devices[device].status = routing::Status::Usable;
  for (auto &[sets, group] : bySets) {
    problem.atoms.push_back({sets.first, sets.second, group.bytes});
    groups.push_back(std::move(group));
  }
}

//===----------------------------------------------------------------------===//
// The routes
//===----------------------------------------------------------------------===//

Source Router::Routes::findSource(int64_t device, int64_t byte) const {
  const routing::Hop &hop =
      *std::prev(receipts.at(device).upper_bound(byte))->second;
  if (hop.stage == 0)
    return {hop.from, 0};
  // As often as this byte was received, which may be less often than others
  // of its hop were.
  return {hop.from,
          receipts.contains(hop.from) ? findSource(hop.from, byte).hop + 1 : 0};
}

/// The parts that hops divide a demand into. All tensors are divided, so that
/// rounds, which take tensors in turn, use all NICs alike.
void Router::addDemand(SourcedDemands &result, const Demand &demand,
                       const Routes &routes, int64_t window) const {
  ArrayRef<int64_t> breaks = routes.getBreaks();
  std::vector<Fragment> parts = divideFragment(
      *demand.fragment, breaks.drop_front().drop_back(), breaks.back(), window);
  for (auto [begin, part] : llvm::zip_equal(breaks.drop_back(), parts)) {
    if (part.pieces.empty())
      continue;
    SourceList &transfers = result.choice.sources.emplace_back();
    for (int64_t device : demand.destinations)
      transfers.push_back(routes.findSource(device, begin));
    result.demands.addOwn(std::move(part), demand.destinations);
  }
}

SourcedDemands Router::apply(const routing::Solution &solution) const {
  std::vector<Routes> routes(problem.atoms.size());
  for (const routing::Hop &hop : solution.hops)
    routes[hop.atom].add(hop);
  SourcedDemands result;
  for (auto [atom, group, ofAtom] :
       llvm::zip_equal(problem.atoms, groups, routes)) {
    ofAtom.close();
    const int64_t parts = ofAtom.getBreaks().size() - 1,
                  windows = std::max<int64_t>(
                      1, mostParts /
                             (parts * std::ssize(problem.needersOf(atom))));
    for (unsigned number : group.demands)
      addDemand(result, demands[number], ofAtom,
                std::max(smallestWindow, atom.bytes / windows));
  }
  result.choice.cost = costOf(result.demands, fleet, result.choice.sources);
  result.choice.hasRelays = llvm::any_of(
      solution.hops, [](const routing::Hop &hop) { return hop.stage > 0; });
  return result;
}

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

std::optional<routing::Cut>
Router::findBound(const llvm::BitVector &participants) const {
  routing::Problem all = problem;
  for (unsigned device : participants.set_bits())
    all.devices[device].status = routing::Status::Usable;
  routing::Cut cut = routing::findBound(all);
  return cut.devices.empty() ? std::nullopt : std::optional(std::move(cut));
}

routing::Time Router::timeOf(const SourcedDemands &sourced) const {
  routing::Loads loads;
  loads.linkOut.resize(problem.devices.size());
  loads.linkIn.resize(problem.devices.size());
  loads.nicOut.resize(problem.nics.size());
  loads.nicIn.resize(problem.nics.size());
  for (auto [number, sources] : llvm::enumerate(sourced.choice.sources)) {
    const Demand &demand = sourced.demands[number];
    const int64_t bytes = demand.fragment->bytes;
    for (auto [to, source] : llvm::zip_equal(demand.destinations, sources)) {
      const int64_t from = source.device;
      const bool isNear = fleet.getNode(to) == fleet.getNode(from);
      (isNear ? loads.linkOut[from]
              : loads.nicOut[problem.devices[from].nic]) += bytes;
      (isNear ? loads.linkIn[to] : loads.nicIn[problem.devices[to].nic]) +=
          bytes;
    }
  }
  return routing::findSlowest(problem, loads);
}

static bool isMuchLess(const routing::Time &time, const routing::Time &other) {
  return routing::Time{time.bytes, time.rate * worthwhilePercent} <=
             routing::Time{other.bytes, other.rate * 100} &&
         time.seconds() + worthwhileTime.seconds() <= other.seconds();
}

std::optional<SourcedDemands>
Router::route(const SourcedDemands &sourced) const {
  const routing::Time before = timeOf(sourced);
  if (!isMuchLess(routing::findBound(problem).time, before))
    return std::nullopt;
  SourcedDemands routed = apply(routing::solveStriped(problem));
  if (!isMuchLess(timeOf(routed), before) ||
      routed.choice.cost.internode > sourced.choice.cost.internode)
    return std::nullopt;
  return routed;
}
