#include "Trade.h"

#include "Finish.h"
#include "Receipts.h"
#include "SpreadFlow.h"
#include "etc/Optimize/Routing/Solver.h"

#include <algorithm>
#include <optional>
#include <tuple>

namespace etc::routing {

__extension__ using Int128 = __int128;

/// Solutions of more hops, or among more devices, are left as they are.
static constexpr size_t mostHops = 4096, mostDevices = 256;
/// So many ways are looked at, at most.
static constexpr int64_t mostLooks = 20'000'000;
/// Between the time of the solution and the goal, so many times are tried, each
/// in the middle.
static constexpr int mostTimes = 8;
/// Bytes are received no more often than this on their way.
static constexpr int mostDepth = 8;
/// No less than this share of a receipt is moved, but for what is left of what
/// is late.
static constexpr int64_t leastShare = 16;

bool hasSlowLinks(const Problem &problem) {
  constexpr int64_t factor = 4;
  int64_t slowest = INT64_MAX;
  for (const Device &device : problem.devices)
    slowest = std::min(slowest, device.linkRate);
  return std::any_of(
      problem.nics.begin(), problem.nics.end(),
      [&](const Nic &nic) { return slowest < factor * nic.rate; });
}

namespace {

/// Another way of the first bytes of a receipt: from `from`, by way of `via`
/// where that is a device.
struct Way {
  int32_t from, via;
  int64_t bytes;
};

class Trader {
public:
  Trader(const Problem &problem, Receipts &receipts)
      : problem(problem), receipts(receipts) {
    for (size_t i = 0; i < problem.devices.size(); ++i)
      if (problem.takesPart(int32_t(i)))
        participants.push_back(int32_t(i));
  }

  /// Changes ways until no resource is later than a time, or as long as some
  /// change helps. Returns whether none is later.
  bool relieve(Time time);
  int64_t getLooks() const { return looks; }

private:
  /// What is taken off a resource, and who gets it.
  struct Change {
    int32_t atom, device;
    Receipt receipt;
    Way way;
  };
  int64_t roomOf(int32_t resource) const {
    return capacities[resource] - receipts.getLoads()[resource];
  }
  int64_t roomOf(std::pair<int32_t, int32_t> resources, int32_t without) const {
    if (resources.first == without || resources.second == without)
      return 0;
    return std::min(roomOf(resources.first), roomOf(resources.second));
  }
  bool takeOff(int32_t resource);
  std::optional<Change> findChange(int32_t resource, int64_t bytes) const;
  void offer(std::optional<Change> &best, int32_t resource, int64_t bytes,
             int32_t atom, int32_t device, const Receipt &receipt) const;
  int64_t roomOfWay(int32_t resource, int32_t atom, int32_t device,
                    const Receipt &receipt, int32_t from, int32_t via) const;
  void apply(const Change &change);

  const Problem &problem;
  Receipts &receipts;
  std::vector<int32_t> participants;
  std::vector<int64_t> capacities; ///< [resource]
  mutable int64_t looks = 0;
};

/// How many bytes of a receipt may come along a way.
int64_t Trader::roomOfWay(int32_t resource, int32_t atom, int32_t device,
                          const Receipt &receipt, int32_t from,
                          int32_t via) const {
  ++looks;
  const auto last = receipts.resourcesOf(via < 0 ? from : via, device);
  const auto before = receipts.resourcesOf(receipt.from, device);
  // What the receipt takes now counts as room.
  auto roomAt = [&](int32_t it) {
    return it == before.first || it == before.second
               ? receipt.end - receipt.begin
               : roomOf(it);
  };
  if (last.first == resource || last.second == resource)
    return 0;
  int64_t room = std::min(roomAt(last.first), roomAt(last.second));
  if (via >= 0)
    room = std::min(room, roomOf(receipts.resourcesOf(from, via), resource));
  if (room <= 0)
    return 0;
  int depth = 0;
  const int64_t reach =
      receipts.findReach(atom, from, device, receipt.begin, receipt.end, depth);
  if (depth + (via >= 0) >= mostDepth)
    return 0;
  if (via >= 0 && !receipts.isFree(atom, via, receipt.begin, reach))
    return 0;
  return std::min(room, reach - receipt.begin);
}

void Trader::offer(std::optional<Change> &best, int32_t resource, int64_t bytes,
                   int32_t atom, int32_t device, const Receipt &receipt) const {
  const int64_t grain = problem.atoms[atom].grain,
                size = receipt.end - receipt.begin,
                most = std::min(size, bytes),
                least = std::min(most, std::max(grain, size / leastShare));
  auto consider = [&](int32_t from, int32_t via) {
    const int64_t room = roomOfWay(resource, atom, device, receipt, from, via);
    if (room < least)
      return;
    // What is enough is rounded up to the grain, what there is room for down.
    const int64_t enough = (receipt.begin + most + grain - 1) / grain * grain,
                  last = room == size ? receipt.end
                                      : (receipt.begin + room) / grain * grain;
    auto rank = [](const Way &way) {
      return std::tuple(way.via >= 0, -way.bytes);
    };
    const Way way = {from, via, std::min(enough, last) - receipt.begin};
    if (way.bytes > 0 && (!best || rank(way) < rank(best->way)))
      best = {atom, device, receipt, way};
  };
  for (int32_t from : participants)
    if (from != receipt.from && from != device)
      consider(from, -1);
  if (!problem.mayTransit(problem.atoms[atom]) || (best && best->way.via < 0))
    return;
  for (int32_t via : participants) {
    if (via == device || receipts.needs(atom, via))
      continue;
    for (int32_t from : participants)
      if (from != via && from != device)
        consider(from, via);
  }
}

std::optional<Trader::Change> Trader::findChange(int32_t resource,
                                                 int64_t bytes) const {
  std::optional<Change> best;
  for (size_t atom = 0; atom < problem.atoms.size(); ++atom)
    for (const auto &[device, list] : receipts.of(int32_t(atom)))
      for (const Receipt &receipt : list) {
        const auto used = receipts.resourcesOf(receipt.from, device);
        if (used.first == resource || used.second == resource)
          offer(best, resource, bytes, int32_t(atom), device, receipt);
      }
  return best;
}

void Trader::apply(const Change &change) {
  const auto &[atom, device, receipt, way] = change;
  const int64_t begin = receipt.begin, end = begin + way.bytes;
  if (way.via >= 0)
    receipts.add(atom, way.via, {begin, end, way.from});
  receipts.replace(atom, device,
                   {begin, end, way.via < 0 ? way.from : way.via});
}

bool Trader::takeOff(int32_t resource) {
  const std::optional<Change> change = findChange(resource, -roomOf(resource));
  if (change)
    apply(*change);
  return change.has_value();
}

bool Trader::relieve(Time time) {
  capacities.clear();
  for (int64_t rate : receipts.getRates())
    capacities.push_back(capacityOf(rate, time));
  bool isGood = true;
  for (size_t i = 0; i < capacities.size(); ++i)
    for (size_t changes = 0; roomOf(int32_t(i)) < 0; ++changes)
      if (changes == mostHops || !takeOff(int32_t(i))) {
        isGood = false;
        break;
      }
  return isGood;
}

/// A time in the middle of two, in nanoseconds.
Time middleOf(Time one, Time other) {
  constexpr int64_t second = 1'000'000'000;
  auto inNanoseconds = [](Time time) {
    return Int128(time.bytes) * second / time.rate;
  };
  return {static_cast<int64_t>((inNanoseconds(one) + inNanoseconds(other)) / 2),
          second};
}

} // namespace

Solution trade(const Problem &problem, Solution solution, Time goal) {
  if (solution.hops.size() > mostHops || problem.devices.size() > mostDevices)
    return solution;
  Time late = goal;
  int64_t looks = 0;
  for (int i = 0; i < mostTimes && solution.time > goal && looks < mostLooks;
       ++i) {
    Receipts changed(problem, solution.hops);
    const Time tried = i == 0 ? goal : middleOf(late, solution.time);
    Trader trader(problem, changed);
    if (!trader.relieve(tried))
      late = tried;
    looks += trader.getLooks();
    if (changed.findSlowest() < solution.time)
      solution = finish(problem, changed.toHops());
  }
  return solution;
}

} // namespace etc::routing
