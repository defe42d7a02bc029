//===- RouteDemands.cpp - Demands as a routing problem --------------------===//

#include "RouteDemands.h"

#include "ChooseSources.h"
#include "etc/Optimize/PlanningTime.h"
#include "etc/Optimize/Routing/Solver.h"
#include "etc/Tolls.h"

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
/// Less than this is not divided over NICs, in bytes,
static constexpr int64_t smallestWindow = 16 << 20;
/// unless it takes a NIC longer than this: then an atom is divided into up to
/// so many windows all the same, for every NIC to have a part of every round.
static constexpr int64_t longWindowsInSecond = 500, mostOfSlowNics = 512;
/// An atom is divided into about so many parts in all windows at most, counted
/// for each destination: every one of them is an instruction.
static constexpr int64_t mostParts = 150'000;

/// Where routes without transit take no more than this of the bound, transit
/// could save little, and is not tried: it is more hops, and memory.
static constexpr int64_t nearPercent = 105;
/// A bound that is less than this below a plan's time is tight enough.
static constexpr double tightPercent = 101;
/// So often tensors are left out that would take too much memory in transit.
static constexpr int mostAttempts = 4;

/// The hops of an atom by receiver.
class Router::Routes {
public:
  /// Of an atom that these devices need, ascending.
  explicit Routes(ArrayRef<int32_t> needers) : needers(needers) {}

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
  /// Who receives a byte without a need of it.
  SmallVector<int64_t> findTransit(int64_t byte) const;

private:
  bool needs(int64_t device) const {
    return std::binary_search(needers.begin(), needers.end(), device);
  }

  ArrayRef<int32_t> needers;
  std::map<int64_t, std::map<int64_t, const routing::Hop *>> receipts;
  SmallVector<int64_t> breaks;
};

//===----------------------------------------------------------------------===//
// The problem
//===----------------------------------------------------------------------===//

Router::Router(const Demands &demands, const Fleet &fleet, const Timing &timing,
               TensorSet direct)
    : direct(std::move(direct)), demands(demands.splitByTakers(this->direct)),
      fleet(fleet), timing(timing) {
  addResources();
  addAtoms();
}

void Router::addResources() {
  std::vector<int32_t> sizes(fleet.getNodeCount());
  for (int64_t device = 0; device < fleet.size(); ++device)
    ++sizes[fleet.getNode(device)];
  for (int32_t size : sizes)
    // More NICs than devices are one for each.
    routing::addNode(
        problem, size,
        static_cast<int32_t>(std::min<int64_t>(timing.rates.nics, size)),
        timing.rates.link, timing.rates.nic);
}

int32_t Router::numberOf(const DeviceSet &set, SetNumbers &numbers,
                         routing::Problem &problem) {
  auto [entry, isNew] = numbers.try_emplace(set, problem.sets.size());
  if (isNew)
    problem.sets.push_back(set);
  return entry->second;
}

/// What a device lacks is often the same as what another one does, and listed
/// apart.
void Router::addAtoms() {
  std::map<std::tuple<int32_t, int32_t, bool>, Group> bySets;
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
    const bool mayTransit = !direct.contains(tensorOf(fragment.pieces.front()));
    Group &group = bySets[{numberOf(holders, numbers, problem),
                           numberOf(needers, numbers, problem), mayTransit}];
    group.isFirst.resize(group.demands.size() + alike.size());
    group.isFirst.set(group.demands.size());
    llvm::append_range(group.demands, alike);
    group.bytes += fragment.bytes;
  }
  for (routing::Device &device : problem.devices)
    device.status = routing::Status::Spare;
  for (const DeviceSet &set : problem.sets)
    for (int32_t device : set)
      problem.devices[device].status = routing::Status::Usable;
  for (auto &[key, group] : bySets) {
    const auto [holders, needers, mayTransit] = key;
    problem.atoms.push_back(
        {holders, needers, group.bytes, /*grain=*/1, mayTransit});
    groups.push_back(std::move(group));
  }
}

//===----------------------------------------------------------------------===//
// The routes
//===----------------------------------------------------------------------===//

Source Router::Routes::findSource(int64_t device, int64_t byte) const {
  const routing::Hop &hop =
      *std::prev(receipts.at(device).upper_bound(byte))->second;
  const bool toTransit = !needs(device);
  if (hop.stage == 0 || !receipts.contains(hop.from))
    return {hop.from, 0, /*fromTransit=*/false, toTransit};
  // As often as this byte was received, which may be less often than others
  // of its hop were.
  return {hop.from, findSource(hop.from, byte).hop + 1, !needs(hop.from),
          toTransit};
}

SmallVector<int64_t> Router::Routes::findTransit(int64_t byte) const {
  SmallVector<int64_t> devices;
  for (const auto &[device, hops] : receipts) {
    if (needs(device))
      continue;
    auto next = hops.upper_bound(byte);
    if (next != hops.begin() && byte < std::prev(next)->second->end)
      devices.push_back(device);
  }
  return devices;
}

/// The parts that hops divide a demand into. All tensors are divided, so that
/// rounds, which take tensors in turn, use all NICs alike.
void Router::addDemand(SourcedDemands &result, const Demand &demand,
                       const Routes &routes, int64_t window,
                       bool isFirst) const {
  ArrayRef<int64_t> breaks = routes.getBreaks();
  std::vector<Fragment> parts = divideFragment(
      *demand.fragment, breaks.drop_front().drop_back(), breaks.back(), window);
  for (auto [begin, part] : llvm::zip_equal(breaks.drop_back(), parts)) {
    if (part.pieces.empty())
      continue;
    SourceList &transfers = result.choice.sources.emplace_back();
    SmallVector<int64_t> receivers = demand.destinations;
    if (isFirst)
      llvm::append_range(receivers, routes.findTransit(begin));
    for (int64_t device : receivers)
      transfers.push_back(routes.findSource(device, begin));
    result.demands.addOwn(std::move(part), receivers);
  }
}

int64_t Router::leastWindowOf(int64_t bytes) const {
  return std::min(smallestWindow,
                  std::max({int64_t(1), timing.rates.nic / longWindowsInSecond,
                            bytes / mostOfSlowNics}));
}

SourcedDemands Router::apply(const routing::Solution &solution) const {
  std::vector<Routes> routes;
  for (const routing::Atom &atom : problem.atoms)
    routes.emplace_back(problem.needersOf(atom));
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
    for (auto [position, number] : llvm::enumerate(group.demands))
      addDemand(result, demands[number], ofAtom,
                std::max(leastWindowOf(atom.bytes), atom.bytes / windows),
                group.isFirst.test(position));
  }
  result.choice.cost = costOf(result.demands, fleet, result.choice.sources);
  result.choice.hasRelays = llvm::any_of(
      solution.hops, [](const routing::Hop &hop) { return hop.stage > 0; });
  return result;
}

//===----------------------------------------------------------------------===//
// The choice
//===----------------------------------------------------------------------===//

routing::Problem Router::withAll() const {
  routing::Problem all = problem;
  for (unsigned device : timing.participants.set_bits())
    all.devices[device].status = routing::Status::Usable;
  return all;
}

int64_t Router::countTied(const Group &group) const {
  int64_t bytes = 0;
  for (unsigned position : group.isFirst.set_bits()) {
    const Fragment &fragment = *demands[group.demands[position]].fragment;
    for (const Piece &piece : fragment.pieces)
      if (timing.tied.tensors.test(piece.tensor))
        bytes += piece.size() * fragment.unit;
  }
  return bytes;
}

routing::Problem Router::withContents() const {
  routing::Problem all = withAll();
  std::map<std::pair<int32_t, int32_t>, int64_t> bytesOf; // by sets
  for (auto [atom, group] : llvm::zip_equal(all.atoms, groups))
    bytesOf[{atom.holders, atom.needers}] += atom.bytes - countTied(group);
  SetNumbers known = numbers;
  for (const TiedContent &content : timing.tied.list)
    bytesOf[{numberOf(content.holders, known, all),
             numberOf(content.needers, known, all)}] += content.bytes;
  all.atoms.clear();
  for (const auto &[sets, bytes] : bytesOf)
    if (bytes > 0)
      all.atoms.push_back({sets.first, sets.second, bytes});
  return all;
}

std::vector<routing::Cut> Router::findBounds() const {
  return routing::findBounds(bounded());
}

std::optional<routing::Problem> Router::poseTolls() const {
  if (!timing.findsTolls ||
      timing.participants.count() > TollCount::kMostDevices)
    return std::nullopt;
  return bounded();
}

void etc::addTolls(const routing::Problem &problem, const routing::Time &time,
                   std::vector<routing::Cut> &bounds) {
  const routing::Cut slowest = routing::findSlowest(bounds);
  if (time.seconds() * 100 <= slowest.time.seconds() * tightPercent)
    return;
  routing::Cut tolls = routing::findTolls(problem, slowest, time);
  if (!tolls.empty())
    bounds.push_back(std::move(tolls));
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

static int64_t scalePpm(int64_t bytes, int64_t ppm) {
  return static_cast<int64_t>(static_cast<__int128>(bytes) * ppm / 1'000'000);
}

/// Tensors of which a device without a need of them receives more than so much,
/// on average per type of a fragment.
static TensorSet findLarge(const SourcedDemands &sourced, int64_t most) {
  std::map<std::pair<int64_t, TensorKey>, int64_t> passed;
  for (auto [number, sources] : llvm::enumerate(sourced.choice.sources)) {
    const Demand &demand = sourced.demands[number];
    const int64_t unit = demand.fragment->unit /
                         std::max<int64_t>(1, demand.fragment->types.count());
    for (auto [to, source] : llvm::zip_equal(demand.destinations, sources))
      if (source.toTransit)
        for (const Piece &piece : demand.fragment->pieces)
          passed[{to, tensorOf(piece)}] += piece.size() * unit;
  }
  TensorSet large;
  for (const auto &[key, bytes] : passed)
    if (bytes > most)
      large.insert(key.second);
  return large;
}

/// Routes with transit, in which no device holds more than so much of a tensor
/// to pass it on: tensors of which one would are left out, and the others take
/// other ways then. Nothing where the routes would be hardly faster.
std::optional<SourcedDemands> Router::passOn(const routing::Time &without,
                                             int64_t most, int attempts) const {
  if (attempts == 0)
    return std::nullopt;
  routing::Problem wider = withAll();
  wider.transit = true;
  const routing::Solution solution = routing::solveStriped(wider);
  if (!isMuchLess(solution.time, without))
    return std::nullopt;
  SourcedDemands routed = apply(solution);
  TensorSet large = findLarge(routed, most);
  if (large.empty())
    return routed;
  large.insert(direct.begin(), direct.end());
  return Router(demands, fleet, timing, std::move(large))
      .passOn(without, most, attempts - 1);
}

/// Whether a time is so little above a bound that transit could save little.
static bool isNear(const routing::Time &time, const routing::Time &bound) {
  return routing::Time{time.bytes, time.rate * nearPercent} <=
         routing::Time{bound.bytes, bound.rate * 100};
}

/// Sends and receives, tensor by tensor.
static int64_t countTransfers(const SourcedDemands &sourced) {
  int64_t count = 0;
  for (auto [number, sources] : llvm::enumerate(sourced.choice.sources))
    count += 2 * std::ssize(sources) *
             std::ssize(sourced.demands[number].fragment->pieces);
  return count;
}

bool Router::isLeftOut(const SourcedDemands &sourced,
                       const std::vector<routing::Cut> &bounds) const {
  const routing::Time before = timeOf(sourced),
                      bound = routing::findSlowest(bounds).time;
  return !bounds.empty() && isMuchLess(bound, before) &&
         before.seconds() - bound.seconds() <
             gainWorthPlanning(countTransfers(sourced), problem.sets.size(),
                               timing.leastGain);
}

std::optional<SourcedDemands>
Router::route(const SourcedDemands &sourced,
              const std::vector<routing::Cut> &bounds) const {
  const routing::Time before = timeOf(sourced);
  if (bounds.empty() || !isMuchLess(routing::findSlowest(bounds).time, before))
    return std::nullopt;
  // Routes send each twin, and each part of what is spread, by itself.
  const std::vector<routing::Cut> targets = routing::findBounds(withAll());
  if (!isMuchLess(routing::findSlowest(targets).time, before))
    return std::nullopt;
  const routing::Solution plain = routing::solveStriped(problem);
  std::optional<SourcedDemands> routed;
  if (timing.transitPpm > 0 && !isNear(plain.time, targets.front().time))
    routed =
        passOn(plain.time,
               scalePpm(sourced.choice.cost.getBusiest(), timing.transitPpm),
               mostAttempts);
  if (!routed)
    routed = apply(plain);
  if (!isMuchLess(timeOf(*routed), before) ||
      (!routing::hasSlowLinks(problem) &&
       routed->choice.cost.internode > sourced.choice.cost.internode))
    return std::nullopt;
  return routed;
}
