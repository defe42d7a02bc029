// The constraints (P1) to (P6) of a problem.

#include "etc/Optimize/Rounds/Problem.h"

#include "../Message.h"

#include <algorithm>

namespace etc::rounds {

using optimize::at;
using optimize::Message;
using optimize::text;

namespace {

__extension__ using Int128 = __int128;

constexpr int64_t kMost = int64_t(1) << 60;

/// What all units do to a class.
struct Sums {
  Int128 allocated = 0, released = 0, sent = 0, received = 0;
};

Message checkAmounts(const std::string &place,
                     std::initializer_list<int64_t> amounts) {
  for (int64_t amount : amounts)
    if (amount < 0)
      return text(place, ": expected bytes of at least 0, got ", amount);
  return std::nullopt;
}

Message checkTouches(const Problem &problem, size_t index) {
  const SharedList<Touch> &touches = problem.units[index].touches;
  for (size_t i = 0; i < touches.size(); ++i) {
    const Touch &touch = touches[i];
    const std::string place = text(at("units", index), ".", at("touches", i));
    if (touch.deviceClass < 0 ||
        size_t(touch.deviceClass) >= problem.classes.size())
      return text(place, ": class ", touch.deviceClass, " is not in [0, ",
                  problem.classes.size(), ")");
    if (i > 0 && touches[i - 1].deviceClass >= touch.deviceClass)
      return text(place, ": classes must be strictly ascending, got ",
                  touch.deviceClass, " after ", touches[i - 1].deviceClass);
    if (Message error = checkAmounts(place, {touch.allocated, touch.released,
                                             touch.sent, touch.received}))
      return error;
  }
  return std::nullopt;
}

Message checkLoads(const Problem &problem, size_t index) {
  const SharedList<Load> &loads = problem.units[index].loads;
  for (size_t i = 0; i < loads.size(); ++i) {
    const auto [port, time] = loads[i];
    const std::string place = text(at("units", index), ".", at("loads", i));
    if (port < 0 || port >= problem.ports)
      return text(place, ": port ", port, " is not in [0, ", problem.ports,
                  ")");
    if (i > 0 && loads[i - 1].port >= port)
      return text(place, ": ports must be strictly ascending, got ", port,
                  " after ", loads[i - 1].port);
    if (time < 0)
      return text(place, ": expected a time of at least 0, got ", time);
  }
  return std::nullopt;
}

Message checkOrder(const Problem &problem, size_t index) {
  const Unit &unit = problem.units[index];
  for (auto [name, other] :
       {std::pair("before", unit.before), std::pair("after", unit.after)})
    if (other < -1 || other >= int64_t(index))
      return text(at("units", index), ".", name, ": unit ", other,
                  " is not in [0, ", index, ")");
  for (auto [name, other] :
       {std::pair("before", unit.before), std::pair("after", unit.after)})
    if (other >= 0 && problem.units[size_t(other)].isDeferred &&
        !unit.isDeferred)
      return text(at("units", index), ".", name, ": unit ", other,
                  " is deferred, and this one is not");
  return std::nullopt;
}

Message checkSums(const Problem &problem) {
  std::vector<Sums> sums(problem.classes.size());
  for (const Unit &unit : problem.units)
    for (const Touch &touch : unit.touches) {
      Sums &sum = sums[size_t(touch.deviceClass)];
      sum.allocated += touch.allocated;
      sum.released += touch.released;
      sum.sent += touch.sent;
      sum.received += touch.received;
    }
  for (size_t i = 0; i < sums.size(); ++i) {
    const ClassMemory &memory = problem.classes[i];
    const Sums &sum = sums[i];
    if (std::max({memory.prev + sum.allocated, sum.sent, sum.received,
                  Int128(memory.limit), Int128(memory.sendSlab),
                  Int128(memory.recvSlab), Int128(memory.beside)}) > kMost)
      return text(at("classes", i), ": sums of bytes exceed 2^60");
    if (const Int128 left = memory.prev + sum.allocated - sum.released;
        left != memory.curr)
      return text(at("classes", i), ".curr: the units leave ", int64_t(left),
                  " bytes, got ", memory.curr);
  }
  return std::nullopt;
}

Message checkTimes(const Problem &problem) {
  if (problem.roundTime < 0)
    return text("roundTime: expected a time of at least 0, got ",
                problem.roundTime);
  std::vector<Int128> times(size_t(problem.ports));
  for (const Unit &unit : problem.units)
    for (const auto [port, time] : unit.loads)
      if ((times[size_t(port)] += time) > kMost)
        return text("units: the times of port ", port, " exceed 2^60");
  return std::nullopt;
}

} // namespace

std::optional<std::string> check(const Problem &problem) {
  for (size_t i = 0; i < problem.classes.size(); ++i) {
    const ClassMemory &memory = problem.classes[i];
    if (Message error =
            checkAmounts(at("classes", i),
                         {memory.prev, memory.curr, memory.limit,
                          memory.sendSlab, memory.recvSlab, memory.beside}))
      return error;
  }
  for (size_t i = 0; i < problem.units.size(); ++i) {
    if (Message error = checkTouches(problem, i))
      return error;
    if (Message error = checkLoads(problem, i))
      return error;
    if (Message error = checkOrder(problem, i))
      return error;
  }
  if (Message error = checkTimes(problem))
    return error;
  return checkSums(problem);
}

} // namespace etc::rounds
