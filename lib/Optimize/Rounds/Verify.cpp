// The constraints (S1) to (S7) of a solution. Nothing here knows how a solution
// is found.

#include "../Message.h"
#include "etc/Optimize/Rounds/Solution.h"

#include <algorithm>

namespace etc::rounds {

using optimize::at;
using optimize::Message;
using optimize::text;

namespace {

class Verifier {
public:
  Verifier(const Problem &problem, const Solution &solution)
      : problem(problem), solution(solution), counted(problem.classes.size()) {}

  Message checkRounds();
  Message checkOrder() const;
  void count();
  Message checkSlabs() const;
  Message checkPeaks() const;
  Message checkTail() const;
  Message checkForced() const;
  Message checkTimes() const;

private:
  void countRound(const std::vector<size_t> &units, bool isTail);
  void countClass(size_t index, bool isTail);

  /// Of one class, in bytes.
  struct Counted {
    int64_t live = 0, allocated = 0, released = 0, sent = 0, received = 0;
    int64_t mostLive = 0, mostSent = 0, mostReceived = 0;
    int64_t mostInTail = 0;
    bool isTouched = false, isExceeded = false;
  };
  const Problem &problem;
  const Solution &solution;
  std::vector<std::vector<size_t>> unitsOf; ///< [rounds]
  std::vector<Counted> counted;             ///< [classes]
  int32_t exceeding = 0;
  int32_t firstDeferred = 0; ///< round; or the number of rounds
};

Message Verifier::checkRounds() {
  if (solution.roundOf.size() != problem.units.size())
    return text("roundOf: expected ", problem.units.size(), " entries, got ",
                solution.roundOf.size());
  if (solution.rounds < 0 || size_t(solution.rounds) > solution.roundOf.size())
    return text("rounds: ", solution.rounds, " is not in [0, ",
                solution.roundOf.size(), "]");
  unitsOf.resize(size_t(solution.rounds));
  for (size_t i = 0; i < solution.roundOf.size(); ++i) {
    const int32_t round = solution.roundOf[i];
    if (round < 0 || round >= solution.rounds)
      return text(at("roundOf", i), ": ", round, " is not in [0, ",
                  solution.rounds, ")");
    unitsOf[size_t(round)].push_back(i);
  }
  for (size_t i = 0; i < problem.units.size(); ++i)
    if (!problem.units[i].isDeferred)
      firstDeferred = std::max(firstDeferred, solution.roundOf[i] + 1);
  for (size_t round = 0; round < unitsOf.size(); ++round)
    if (unitsOf[round].empty())
      return text("rounds: round ", round, " has no unit");
  return std::nullopt;
}

Message Verifier::checkOrder() const {
  for (size_t i = 0; i < problem.units.size(); ++i) {
    const int32_t before = problem.units[i].before,
                  after = problem.units[i].after;
    const int32_t round = solution.roundOf[i];
    if (before >= 0 && solution.roundOf[size_t(before)] > round)
      return text(at("roundOf", i), ": in round ", round, ", but unit ", before,
                  ", which must not come later, in round ",
                  solution.roundOf[size_t(before)]);
    if (after >= 0 && solution.roundOf[size_t(after)] >= round)
      return text(at("roundOf", i), ": in round ", round, ", but unit ", after,
                  ", which it waits for, in round ",
                  solution.roundOf[size_t(after)]);
  }
  for (size_t i = 0; i < problem.units.size(); ++i)
    if (problem.units[i].isDeferred && solution.roundOf[i] < firstDeferred)
      return text(at("roundOf", i), ": in round ", solution.roundOf[i],
                  ", but is deferred, and one that is not is in round ",
                  firstDeferred - 1);
  return std::nullopt;
}

/// At the end of a round that touches the class.
void Verifier::countClass(size_t index, bool isTail) {
  Counted &it = counted[index];
  const ClassMemory &memory = problem.classes[index];
  it.live += it.allocated;
  it.mostLive = std::max(it.mostLive, it.live);
  if (isTail)
    it.mostInTail = std::max(it.mostInTail, it.live);
  it.mostSent = std::max(it.mostSent, it.sent);
  it.mostReceived = std::max(it.mostReceived, it.received);
  it.isExceeded =
      it.sent > memory.sendSlab || it.received > memory.recvSlab ||
      (it.allocated > 0 && it.live + (isTail ? memory.beside : 0) +
                                   memory.sendSlab + memory.recvSlab >
                               memory.limit);
  it.live -= it.released;
  it.allocated = it.released = it.sent = it.received = 0;
  it.isTouched = false;
}

void Verifier::countRound(const std::vector<size_t> &units, bool isTail) {
  std::vector<size_t> touched;
  for (size_t unit : units)
    for (const Touch &touch : problem.units[unit].touches) {
      Counted &it = counted[size_t(touch.deviceClass)];
      if (!it.isTouched)
        touched.push_back(size_t(touch.deviceClass));
      it.isTouched = true;
      it.allocated += touch.allocated;
      it.released += touch.released;
      it.sent += touch.sent;
      it.received += touch.received;
    }
  bool isExceeded = false;
  for (size_t index : touched) {
    countClass(index, isTail);
    isExceeded |= counted[index].isExceeded;
  }
  exceeding += isExceeded;
}

void Verifier::count() {
  for (size_t i = 0; i < counted.size(); ++i)
    counted[i].live = counted[i].mostLive = problem.classes[i].prev;
  for (size_t round = 0; round < unitsOf.size(); ++round) {
    if (round == size_t(firstDeferred))
      for (Counted &it : counted)
        it.mostInTail = it.live;
    countRound(unitsOf[round], round >= size_t(firstDeferred));
  }
}

Message Verifier::checkSlabs() const {
  for (auto [name, slabs] : {std::pair("sendSlab", &solution.sendSlab),
                             std::pair("recvSlab", &solution.recvSlab),
                             std::pair("peak", &solution.peak)})
    if (slabs->size() != counted.size())
      return text(name, ": expected ", counted.size(), " entries, got ",
                  slabs->size());
  for (size_t i = 0; i < counted.size(); ++i) {
    if (solution.sendSlab[i] != counted[i].mostSent)
      return text(at("sendSlab", i), ": a round sends up to ",
                  counted[i].mostSent, " bytes, got ", solution.sendSlab[i]);
    if (solution.recvSlab[i] != counted[i].mostReceived)
      return text(at("recvSlab", i), ": a round receives up to ",
                  counted[i].mostReceived, " bytes, got ",
                  solution.recvSlab[i]);
  }
  return std::nullopt;
}

Message Verifier::checkPeaks() const {
  for (size_t i = 0; i < counted.size(); ++i) {
    const Counted &it = counted[i];
    const int64_t peak = it.mostLive + it.mostSent + it.mostReceived;
    if (solution.peak[i] != peak)
      return text(at("peak", i), ": up to ", peak, " bytes are live, got ",
                  solution.peak[i]);
  }
  return std::nullopt;
}

Message Verifier::checkTail() const {
  const size_t expected = firstDeferred < solution.rounds ? counted.size() : 0;
  if (solution.tailPeak.size() != expected)
    return text("tailPeak: expected ", expected, " entries, got ",
                solution.tailPeak.size());
  for (size_t i = 0; i < expected; ++i) {
    const Counted &it = counted[i];
    const int64_t peak = it.mostInTail + it.mostSent + it.mostReceived;
    if (solution.tailPeak[i] != peak)
      return text(at("tailPeak", i), ": up to ", peak, " bytes are live, got ",
                  solution.tailPeak[i]);
  }
  return std::nullopt;
}

Message Verifier::checkForced() const {
  if (solution.forced < exceeding || solution.forced > solution.rounds)
    return text("forced: ", exceeding, " of ", solution.rounds,
                " rounds exceed a class, got ", solution.forced);
  return std::nullopt;
}

Message Verifier::checkTimes() const {
  struct Port {
    int64_t time = 0, units = 0;
  };
  for (size_t round = 0; round < unitsOf.size(); ++round) {
    std::vector<Port> ports(size_t(problem.ports));
    for (size_t unit : unitsOf[round])
      for (const auto [port, time] : problem.units[unit].loads) {
        ports[size_t(port)].time += time;
        ports[size_t(port)].units += time > 0;
      }
    for (size_t port = 0; port < ports.size(); ++port)
      if (ports[port].units > 1 && ports[port].time > problem.roundTime)
        return text("rounds: ", ports[port].units, " units of round ", round,
                    " occupy port ", port, " for ", ports[port].time, " of ",
                    problem.roundTime, " ns");
  }
  return std::nullopt;
}

} // namespace

std::optional<std::string> verify(const Problem &problem,
                                  const Solution &solution) {
  if (Message error = check(problem))
    return error;
  Verifier verifier(problem, solution);
  if (Message error = verifier.checkRounds())
    return error;
  if (Message error = verifier.checkOrder())
    return error;
  verifier.count();
  if (Message error = verifier.checkSlabs())
    return error;
  if (Message error = verifier.checkPeaks())
    return error;
  if (Message error = verifier.checkTail())
    return error;
  if (Message error = verifier.checkForced())
    return error;
  return verifier.checkTimes();
}

} // namespace etc::rounds
