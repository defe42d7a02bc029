#include "Ledger.h"

#include <algorithm>

namespace etc::rounds {

Ledger::Ledger(const Problem &problem)
    : classes(problem.classes), roundTime(problem.roundTime),
      occupied(size_t(problem.ports)) {
  states.reserve(classes.size());
  for (const ClassMemory &memory : classes)
    states.push_back({memory.prev, 0, 0, 0, 0, memory.prev, 0, 0});
}

int64_t Ledger::overflow(const Unit &unit) const {
  int64_t worst = INT64_MIN;
  for (const Touch &touch : unit.touches) {
    const State &state = states[size_t(touch.deviceClass)];
    const ClassMemory &memory = classes[size_t(touch.deviceClass)];
    if (touch.allocated)
      worst =
          std::max(worst, state.live + state.allocated + touch.allocated +
                              (isTail ? memory.beside : 0) + memory.sendSlab +
                              memory.recvSlab - memory.limit);
  }
  return worst;
}

bool Ledger::keepsRoundTime(const Unit &unit) const {
  return std::all_of(unit.loads.begin(), unit.loads.end(),
                     [&](const Load &load) {
                       const int64_t before = occupied[size_t(load.port)];
                       return before == 0 || before + load.time <= roundTime;
                     });
}

bool Ledger::fits(const Unit &unit) const {
  for (const Touch &touch : unit.touches) {
    const State &state = states[size_t(touch.deviceClass)];
    const ClassMemory &memory = classes[size_t(touch.deviceClass)];
    if (state.sent + touch.sent > memory.sendSlab ||
        state.received + touch.received > memory.recvSlab)
      return false;
  }
  return keepsRoundTime(unit) && overflow(unit) <= 0;
}

void Ledger::take(const Unit &unit) {
  for (const Touch &touch : unit.touches) {
    State &state = states[size_t(touch.deviceClass)];
    state.allocated += touch.allocated;
    state.released += touch.released;
    state.sent += touch.sent;
    state.received += touch.received;
  }
  for (const Load &load : unit.loads)
    occupied[size_t(load.port)] += load.time;
}

void Ledger::closeRound() {
  for (State &state : states) {
    state.mostSent = std::max(state.mostSent, state.sent);
    state.mostReceived = std::max(state.mostReceived, state.received);
    state.live += state.allocated;
    state.mostLive = std::max(state.mostLive, state.live);
    if (isTail)
      state.mostInTail = std::max(state.mostInTail, state.live);
    state.live -= state.released;
    state.allocated = state.released = state.sent = state.received = 0;
  }
  std::fill(occupied.begin(), occupied.end(), 0);
}

void Ledger::beginTail() {
  isTail = true;
  for (State &state : states)
    state.mostInTail = state.live;
}

void Ledger::finish(Solution &solution) const {
  for (const State &state : states) {
    solution.sendSlab.push_back(state.mostSent);
    solution.recvSlab.push_back(state.mostReceived);
    solution.peak.push_back(state.mostLive + state.mostSent +
                            state.mostReceived);
    if (isTail)
      solution.tailPeak.push_back(state.mostInTail + state.mostSent +
                                  state.mostReceived);
  }
}

} // namespace etc::rounds
