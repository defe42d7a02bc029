//===- RoundClock.cpp - When devices end rounds ---------------------------===//

#include "RoundClock.h"

using namespace etc;
using namespace mlir;

void RoundClock::add(unsigned unit) {
  for (const UnitTimes::Packing &it : units.getPackings(unit))
    for (int64_t device : rates.getDevices(it.program))
      (it.isSend ? packs[device].out : packs[device].in) += it.seconds;
  for (const UnitTimes::Copying &it : units.getCopyings(unit))
    for (int64_t device : rates.getDevices(it.program)) {
      if (copies[device] == 0)
        copying.push_back(device);
      copies[device] += it.seconds;
    }
  for (const UnitTimes::Sending &it : units.getSendings(unit)) {
    if (!isUsed.test(it.ways)) {
      isUsed.set(it.ways);
      used.push_back(it.ways);
    }
    for (const Way &way : rates.getWays(it.ways)) {
      const double seconds = it.secondsOf(way);
      ports[way.fromPort].out += seconds;
      ports[way.toPort].in += seconds;
    }
  }
}

double RoundClock::getBusiest() const {
  double most = 0;
  for (const Load &it : ports)
    most = std::max(most, it.most());
  return most;
}

void RoundClock::endRound(double beginning) {
  for (int64_t device : copying)
    arrive(device, copiedAt(device));
  for (unsigned number : used)
    for (const Way &it : rates.getWays(number)) {
      const double there =
          std::max(ends[it.from] + packs[it.from].out,
                   ends[it.to] + packs[it.to].out) +
          std::max(ports[it.fromPort].most(), ports[it.toPort].most());
      arrive(it.to,
             std::max(there, copiedAt(it.to)) + packs[it.to].in + beginning);
    }
  for (int64_t device : copying)
    ends[device] = std::max(ends[device], arrivals[device]);
  // A device that has received all of a round answers, and a sender waits for
  // its answers.
  for (unsigned number : used)
    for (const Way &it : rates.getWays(number))
      for (int32_t device : {it.from, it.to})
        ends[device] = std::max(ends[device], arrivals[it.to]);
  for (unsigned number : used) {
    for (const Way &it : rates.getWays(number))
      ports[it.fromPort] = ports[it.toPort] = packs[it.from] =
          packs[it.to] = {};
    isUsed.reset(number);
  }
  for (int64_t device : copying)
    copies[device] = 0, packs[device] = {};
  used.clear();
  copying.clear();
}
