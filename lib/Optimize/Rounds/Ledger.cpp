#include "Ledger.h"

#include <algorithm>

namespace etc::rounds {

Ledger::Ledger(const Problem &problem)
    : classes(problem.classes), roundTime(problem.roundTime),
      occupied(size_t(problem.ports)) {
  states.reserve(classes.size());
  rooms.reserve(classes.size());
  for (const ClassMemory &memory : classes) {
    states.push_back({.live = memory.prev, .mostLive = memory.prev});
    rooms.push_back(openRoom(rooms.size()));
  }
}

Ledger::Room Ledger::openRoom(size_t deviceClass) const {
  const ClassMemory &memory = classes[deviceClass];
  return {memory.limit - memory.sendSlab - memory.recvSlab -
              (isTail ? memory.beside : 0) - states[deviceClass].live,
          memory.sendSlab, memory.recvSlab};
}

int64_t Ledger::overflow(const Unit &unit) const {
  int64_t worst = INT64_MIN;
  for (const Touch &touch : unit.touches)
    if (touch.allocated)
      worst = std::max(worst, touch.allocated -
                                  rooms[size_t(touch.deviceClass)].allocated);
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
    const Room &room = rooms[size_t(touch.deviceClass)];
    if (touch.sent > room.sent || touch.received > room.received ||
        (touch.allocated && touch.allocated > room.allocated))
      return false;
  }
  return keepsRoundTime(unit);
}

void Ledger::take(const Unit &unit) {
  for (const Touch &touch : unit.touches) {
    State &state = states[size_t(touch.deviceClass)];
    Room &room = rooms[size_t(touch.deviceClass)];
    state.allocated += touch.allocated;
    state.released += touch.released;
    room.allocated -= touch.allocated;
    room.sent -= touch.sent;
    room.received -= touch.received;
  }
  for (const Load &load : unit.loads)
    occupied[size_t(load.port)] += load.time;
}

void Ledger::closeRound() {
  for (size_t i = 0; i < states.size(); ++i) {
    State &state = states[i];
    state.mostSent =
        std::max(state.mostSent, classes[i].sendSlab - rooms[i].sent);
    state.mostReceived =
        std::max(state.mostReceived, classes[i].recvSlab - rooms[i].received);
    state.live += state.allocated;
    state.mostLive = std::max(state.mostLive, state.live);
    if (isTail)
      state.mostInTail = std::max(state.mostInTail, state.live);
    state.live -= state.released;
    state.allocated = state.released = 0;
    rooms[i] = openRoom(i);
  }
  std::fill(occupied.begin(), occupied.end(), 0);
}

bool Ledger::isWithin(std::span<const int64_t> mostPeaks) const {
  return mostPeaks.empty() ||
         std::equal(states.begin(), states.end(), mostPeaks.begin(),
                    [](const State &state, int64_t most) {
                      return state.getPeak() <= most;
                    });
}

void Ledger::beginTail() {
  isTail = true;
  for (size_t i = 0; i < states.size(); ++i) {
    states[i].mostInTail = states[i].live;
    rooms[i] = openRoom(i);
  }
}

void Ledger::finish(Solution &solution) const {
  for (const State &state : states) {
    solution.sendSlab.push_back(state.mostSent);
    solution.recvSlab.push_back(state.mostReceived);
    solution.peak.push_back(state.getPeak());
    if (isTail)
      solution.tailPeak.push_back(state.mostInTail + state.mostSent +
                                  state.mostReceived);
  }
}

} // namespace etc::rounds
