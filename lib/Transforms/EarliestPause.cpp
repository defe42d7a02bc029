//===- EarliestPause.cpp - When a pause ends at the earliest --------------===//

#include "EarliestPause.h"

using namespace etc;
using namespace mlir;

namespace {
class Rounds {
public:
  Rounds(const TransferRates &rates, const UnitTimes &units)
      : rates(rates), units(units), messages(rates.getWaysCount()),
        loads(rates.getDeviceCount()), ends(rates.getDeviceCount()) {}

  void add(unsigned unit);
  void endRound();
  double getEnd() const { return *llvm::max_element(ends); }

private:
  /// Calls a function with each message of the round, and its seconds.
  template <typename Fn> void forMessages(Fn function) const {
    for (unsigned number : used)
      for (const Way &way : rates.getWays(number))
        function(way, messages[number].secondsOf(way));
  }

  const TransferRates &rates;
  const UnitTimes &units;
  /// Of the open round: one message for each way of a number, and all of a
  /// device.
  std::vector<UnitTimes::Sending> messages;
  SmallVector<unsigned> used;
  std::vector<DeviceLoad> loads;
  std::vector<double> ends; ///< [devices]
};
} // namespace

void Rounds::add(unsigned unit) {
  for (const UnitTimes::Sending &it : units.getSendings(unit)) {
    UnitTimes::Sending &message = messages[it.ways];
    if (message.far == 0)
      used.push_back(it.ways);
    message.far += it.far;
    message.near += it.near;
  }
}

void Rounds::endRound() {
  std::vector<double> next = ends;
  forMessages([&](const Way &way, double seconds) {
    loads[way.from].of(way).out += seconds;
    loads[way.to].of(way).in += seconds;
    const double arrival = std::max(ends[way.from], ends[way.to]) + seconds;
    for (int32_t device : {way.from, way.to})
      next[device] = std::max(next[device], arrival);
  });
  forMessages([&](const Way &way, double) {
    for (int32_t device : {way.from, way.to})
      next[device] =
          std::max(next[device], ends[device] + loads[device].most());
  });
  forMessages(
      [&](const Way &way, double) { loads[way.from] = loads[way.to] = {}; });
  for (unsigned number : used)
    messages[number] = {};
  used.clear();
  ends = std::move(next);
}

double etc::findEarliestPause(const TransferRates &rates,
                              const rounds::Solution &solution,
                              ArrayRef<Chunk> chunks) {
  const TensorTable &table = rates.getFlows().getTable();
  std::vector<SmallVector<unsigned>> byRound(solution.rounds);
  for (auto [unit, round] : llvm::enumerate(solution.roundOf))
    if (!table.isDeferred(chunks[unit].portion.type))
      byRound[round].push_back(unit);
  const UnitTimes units(rates, chunks);
  Rounds rounds(rates, units);
  for (ArrayRef<unsigned> numbers : byRound) {
    for (unsigned number : numbers)
      rounds.add(number);
    rounds.endRound();
  }
  return rounds.getEnd();
}
