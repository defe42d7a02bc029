//===- Schedule.cpp - Units into rounds under a memory bound --------------===//

#include "Schedule.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

#include <map>

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
  void fillRound(ArrayRef<unsigned> pending);
  void takeLeastOverflow(ArrayRef<unsigned> pending);
  void closeRound();

  struct State {
    int64_t live, allocated = 0, released = 0, sent = 0, received = 0, peak = 0;
  };
  ArrayRef<Unit> units;
  ArrayRef<ClassMemory> classes;
  SmallVector<State> states;
  Schedule schedule;
  SmallVector<unsigned> order;  ///< [units] in proportion
  SmallVector<unsigned> flowOf; ///< [units]
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
/// flow: it would hold up its own.
static SmallVector<unsigned> findFlows(ArrayRef<Unit> units) {
  std::map<SmallVector<unsigned>, unsigned> numbers;
  SmallVector<unsigned> flows;
  for (const Unit &unit : units)
    flows.push_back(unit.before >= 0 && unit.after < 0
                        ? flows[unit.before]
                        : numbers.try_emplace(touchesOf(unit), numbers.size())
                              .first->second);
  return flows;
}

/// Units ordered by the share of their flow that is done when half of them is.
static SmallVector<unsigned> proportionalOrder(ArrayRef<Unit> units,
                                               ArrayRef<unsigned> flowOf) {
  constexpr int64_t scale = int64_t(1) << 40;
  SmallVector<__int128> total(units.size()), done(units.size());
  for (auto [unit, flow] : llvm::zip_equal(units, flowOf))
    total[flow] += weightOf(unit);
  SmallVector<int64_t> share;
  for (auto [unit, flow] : llvm::zip_equal(units, flowOf)) {
    int64_t weight = weightOf(unit);
    share.push_back(total[flow]
                        ? static_cast<int64_t>((2 * done[flow] + weight) *
                                               scale / (2 * total[flow]))
                        : 0);
    done[flow] += weight;
  }
  SmallVector<unsigned> order =
      llvm::to_vector(llvm::seq<unsigned>(units.size()));
  llvm::stable_sort(
      order, [&](unsigned a, unsigned b) { return share[a] < share[b]; });
  return order;
}

Scheduler::Scheduler(ArrayRef<Unit> units, ArrayRef<ClassMemory> classes)
    : units(units), classes(classes), flowOf(findFlows(units)) {
  order = proportionalOrder(units, flowOf);
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
  isEmpty = false;
}

/// Takes what fits. A unit that does not holds up those of its flow that come
/// after it.
void Scheduler::fillRound(ArrayRef<unsigned> pending) {
  llvm::BitVector held(units.size());
  for (unsigned unit : pending) {
    if (held.test(flowOf[unit]) || isTaken(unit))
      continue;
    if (isReady(unit) && fits(unit))
      take(unit);
    else
      held.set(flowOf[unit]);
  }
}

void Scheduler::takeLeastOverflow(ArrayRef<unsigned> pending) {
  std::pair<int64_t, unsigned> best{INT64_MAX, pending.front()};
  for (unsigned unit : pending)
    if (isReady(unit))
      if (int64_t bytes = overflow(unit); bytes < best.first)
        best = {bytes, unit};
  take(best.second);
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
  SmallVector<unsigned> pending = order;
  while (!pending.empty()) {
    fillRound(pending);
    if (isEmpty) {
      takeLeastOverflow(pending);
      ++schedule.forced;
      fillRound(pending);
    }
    llvm::erase_if(pending, [&](unsigned unit) { return isTaken(unit); });
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
