// The memory of all classes while rounds are filled, one after the other.

#ifndef ETC_LIB_OPTIMIZE_ROUNDS_LEDGER_H
#define ETC_LIB_OPTIMIZE_ROUNDS_LEDGER_H

#include "etc/Optimize/Rounds/Solution.h"

#include <span>

namespace etc::rounds {

class Ledger {
public:
  explicit Ledger(const Problem &problem);

  /// Whether the open round has room for a unit, and live bytes have.
  bool fits(const Unit &unit) const;
  /// By how much the unit would exceed the worst limit in this round; at most 0
  /// where it fits, but for the slabs.
  int64_t overflow(const Unit &unit) const;
  void take(const Unit &unit);
  void closeRound();
  /// Whether no peak is above these, if there are any: [classes].
  bool isWithin(std::span<const int64_t> mostPeaks) const;
  /// All rounds from now on are deferred.
  void beginTail();
  /// Writes the slabs and peaks of all rounds.
  void finish(Solution &solution) const;

private:
  /// What the open round may still take; negative where it holds too much.
  struct Room {
    int64_t allocated, sent, received;
  };
  struct State {
    int64_t live, allocated = 0, released = 0;
    int64_t mostLive, mostSent = 0, mostReceived = 0;
    int64_t mostInTail = 0;

    int64_t getPeak() const { return mostLive + mostSent + mostReceived; }
  };
  bool keepsRoundTime(const Unit &unit) const;
  Room openRoom(size_t deviceClass) const;

  const std::vector<ClassMemory> &classes;
  std::vector<State> states; ///< [classes]
  std::vector<Room> rooms;   ///< [classes]
  const int64_t roundTime;
  std::vector<int64_t> occupied; ///< [ports], in the open round
  bool isTail = false;
};

} // namespace etc::rounds

#endif // ETC_LIB_OPTIMIZE_ROUNDS_LEDGER_H
