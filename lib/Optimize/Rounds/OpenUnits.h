// Which units a round may be forced with.

#ifndef ETC_LIB_OPTIMIZE_ROUNDS_OPENUNITS_H
#define ETC_LIB_OPTIMIZE_ROUNDS_OPENUNITS_H

#include "etc/Optimize/Rounds/Problem.h"

#include <vector>

namespace etc::rounds {

class Ledger;

/// The units that are not taken and wait for no other, by what they allocate:
/// of those that allocate the same only the first counts.
class OpenUnits {
public:
  bool isEmpty() const { return kindOf.empty(); }
  /// Of a schedule that has begun; without what is deferred before its tail.
  void fill(const std::vector<Unit> &units, const std::vector<int32_t> &roundOf,
            bool isTail);
  /// Opens what waited for a unit that is taken now.
  void take(size_t unit);
  /// The first of those that exceed their limits least. One is open, and none
  /// has been taken in this round.
  size_t findLeastOverflow(const Ledger &ledger);

private:
  struct Kind {
    size_t first;             ///< one of its units, open or not
    std::vector<size_t> open; ///< a heap, least first, with some taken ones
    bool isListed = false;    ///< in `listed`
  };
  void findKinds(const std::vector<Unit> &units);
  void listWaiting(const std::vector<Unit> &units);
  void add(size_t unit);

  const std::vector<Unit> *units = nullptr;
  std::vector<Kind> kinds;
  std::vector<uint32_t> listed; ///< kinds with open units, in no order
  std::vector<uint32_t> kindOf; ///< [units]
  std::vector<bool> isTaken;    ///< [units]
  /// [units]: for how many it waits; more than it has for what stays closed.
  std::vector<int8_t> waits;
  /// Units that wait for unit i: waiting[firstWaiting[i]] to that of i + 1.
  std::vector<uint32_t> firstWaiting, waiting;
};

} // namespace etc::rounds

#endif // ETC_LIB_OPTIMIZE_ROUNDS_OPENUNITS_H
