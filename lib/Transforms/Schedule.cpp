//===- Schedule.cpp - Units into rounds under a memory bound --------------===//

#include "Schedule.h"

#include "llvm/ADT/STLExtras.h"

#include <map>
#include <queue>

using namespace etc;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {
class Scheduler {
public:
  Scheduler(ArrayRef<Unit> units, ArrayRef<ClassMemory> classes);
  Schedule run();

private:
  bool isTaken(unsigned unit) const { return schedule.roundOf[unit] >= 0; }
  bool isReady(unsigned unit) const {
    int before = units[unit].before, after = units[unit].after;
    return (before < 0 || isTaken(before)) &&
           (after < 0 ||
            (isTaken(after) && schedule.roundOf[after] < schedule.rounds));
  }
  bool fits(unsigned unit) const;
  int64_t overflow(unsigned unit) const;
  void take(unsigned unit);
  void fillRound();
  void takeLeastOverflow();
  /// The next unit of a flow that is not taken, or nothing.
  std::optional<unsigned> head(unsigned flow);
  void closeRound();

  struct State {
    int64_t live, allocated = 0, released = 0, sent = 0, received = 0, peak = 0;
  };
  ArrayRef<Unit> units;
  ArrayRef<ClassMemory> classes;
  SmallVector<State> states;
  Schedule schedule;
  SmallVector<int64_t> shareOf; ///< [units]
  struct Flow {
    SmallVector<unsigned> units; ///< in order
    size_t next = 0;             ///< all before it are taken
  };
  SmallVector<Flow> flows;
  size_t taken = 0;
  bool isEmpty = true;
};
} // namespace

/// Bytes that a unit touches at all: its share of its flow.
static int64_t weightOf(const Unit &unit) {
  int64_t bytes = 0;
  for (const Touch &touch : unit.touches)
    bytes += touch.allocated + touch.released + touch.sent + touch.received;
  return bytes;
}

/// Which classes a unit touches, and how.
static SmallVector<unsigned> touchesOf(const Unit &unit) {
  SmallVector<unsigned> flow;
  for (const Touch &touch : unit.touches)
    flow.push_back(touch.deviceClass * 16 + (touch.allocated > 0) * 8 +
                   (touch.released > 0) * 4 + (touch.sent > 0) * 2 +
                   (touch.received > 0));
  return flow;
}

/// The flow of every unit. Chunks of one tensor differ in how they touch; they
/// belong to their first chunk's flow, all but a unit that waits for another
/// flow where that chunk does not: it would hold up its own.
static SmallVector<unsigned> findFlows(ArrayRef<Unit> units) {
  std::map<SmallVector<unsigned>, unsigned> numbers;
  SmallVector<unsigned> flows;
  for (const Unit &unit : units) {
    const bool goesOn =
        unit.before >= 0 && (unit.after < 0 || units[unit.before].after >= 0);
    flows.push_back(goesOn
                        ? flows[unit.before]
                        : numbers.try_emplace(touchesOf(unit), numbers.size())
                              .first->second);
  }
  return flows;
}

/// For every unit, the share of its flow that is done when half of it is.
static SmallVector<int64_t> findShares(ArrayRef<Unit> units,
                                       ArrayRef<unsigned> flowOf) {
  constexpr int64_t scale = int64_t(1) << 40;
  SmallVector<__int128> total(units.size()), done(units.size());
  SmallVector<int64_t> weights, shares;
  for (auto [unit, flow] : llvm::zip_equal(units, flowOf))
    total[flow] += weights.emplace_back(weightOf(unit));
  for (auto [weight, flow] : llvm::zip_equal(weights, flowOf)) {
    shares.push_back(total[flow]
                         ? static_cast<int64_t>((2 * done[flow] + weight) *
                                                scale / (2 * total[flow]))
                         : 0);
    done[flow] += weight;
  }
  return shares;
}

Scheduler::Scheduler(ArrayRef<Unit> units, ArrayRef<ClassMemory> classes)
    : units(units), classes(classes) {
  SmallVector<unsigned> flowOf = findFlows(units);
  shareOf = findShares(units, flowOf);
  for (auto [unit, flow] : llvm::enumerate(flowOf)) {
    if (flow >= flows.size())
      flows.resize(flow + 1);
    flows[flow].units.push_back(unit);
  }
  for (const ClassMemory &memory : classes)
    states.push_back({memory.prev});
  schedule.roundOf.assign(units.size(), -1);
  schedule.sendSlab.assign(classes.size(), 0);
  schedule.recvSlab.assign(classes.size(), 0);
}

/// By how much the unit would exceed the worst limit in this round; at most 0
/// where it fits.
int64_t Scheduler::overflow(unsigned unit) const {
  int64_t worst = INT64_MIN;
  for (const Touch &touch : units[unit].touches) {
    const State &state = states[touch.deviceClass];
    const ClassMemory &memory = classes[touch.deviceClass];
    if (touch.allocated)
      worst =
          std::max(worst, state.live + state.allocated + touch.allocated +
                              memory.sendSlab + memory.recvSlab - memory.limit);
  }
  return worst;
}

bool Scheduler::fits(unsigned unit) const {
  for (const Touch &touch : units[unit].touches) {
    const State &state = states[touch.deviceClass];
    const ClassMemory &memory = classes[touch.deviceClass];
    if (state.sent + touch.sent > memory.sendSlab ||
        state.received + touch.received > memory.recvSlab)
      return false;
  }
  return overflow(unit) <= 0;
}

void Scheduler::take(unsigned unit) {
  for (const Touch &touch : units[unit].touches) {
    State &state = states[touch.deviceClass];
    state.allocated += touch.allocated;
    state.released += touch.released;
    state.sent += touch.sent;
    state.received += touch.received;
  }
  schedule.roundOf[unit] = schedule.rounds;
  ++taken;
  isEmpty = false;
}

std::optional<unsigned> Scheduler::head(unsigned flow) {
  auto &[list, next] = flows[flow];
  while (next < list.size() && isTaken(list[next]))
    ++next;
  return next < list.size() ? std::optional(list[next]) : std::nullopt;
}

/// Takes what fits, the flow that is furthest behind first. A unit that does
/// not fit holds up those of its flow that come after it.
void Scheduler::fillRound() {
  using Candidate =
      std::tuple<int64_t, unsigned, unsigned>; // share, unit, flow
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> heads;
  auto push = [&](unsigned flow) {
    if (std::optional<unsigned> unit = head(flow))
      heads.push({shareOf[*unit], *unit, flow});
  };
  for (unsigned flow = 0; flow < flows.size(); ++flow)
    push(flow);
  while (!heads.empty()) {
    auto [share, unit, flow] = heads.top();
    heads.pop();
    if (!isReady(unit) || !fits(unit))
      continue;
    take(unit);
    push(flow);
  }
}

void Scheduler::takeLeastOverflow() {
  std::optional<std::pair<int64_t, unsigned>> best;
  for (const Flow &flow : flows)
    for (unsigned unit : llvm::drop_begin(flow.units, flow.next))
      if (!isTaken(unit) && isReady(unit))
        if (std::pair candidate(overflow(unit), unit);
            !best || candidate < *best)
          best = candidate;
  take(best->second);
}

void Scheduler::closeRound() {
  for (auto [index, state] : llvm::enumerate(states)) {
    schedule.sendSlab[index] = std::max(schedule.sendSlab[index], state.sent);
    schedule.recvSlab[index] =
        std::max(schedule.recvSlab[index], state.received);
    state.live += state.allocated;
    state.peak = std::max(state.peak, state.live);
    state.live -= state.released;
    state.allocated = state.released = state.sent = state.received = 0;
  }
  ++schedule.rounds;
  isEmpty = true;
}

Schedule Scheduler::run() {
  while (taken < units.size()) {
    fillRound();
    if (isEmpty) {
      takeLeastOverflow();
      ++schedule.forced;
      fillRound();
    }
    closeRound();
  }
  for (auto [index, state] : llvm::enumerate(states))
    schedule.peak.push_back(std::max(state.peak, classes[index].prev) +
                            schedule.sendSlab[index] +
                            schedule.recvSlab[index]);
  return std::move(schedule);
}

Schedule etc::scheduleUnits(ArrayRef<Unit> units,
                            ArrayRef<ClassMemory> classes) {
  return Scheduler(units, classes).run();
}
