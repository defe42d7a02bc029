// Which units a round may be forced with.

#ifndef ETC_LIB_OPTIMIZE_ROUNDS_OPENUNITS_H
#define ETC_LIB_OPTIMIZE_ROUNDS_OPENUNITS_H

#include "etc/Optimize/Rounds/Problem.h"

#include <span>
#include <utility>

namespace etc::rounds {

/// The units that are not taken, and wait for no chunk before them.
class OpenUnits {
public:
  bool isEmpty() const { return places.empty(); }
  std::span<const size_t> get() const { return open; }
  /// Of a schedule that has begun.
  void fill(const std::vector<Unit> &units,
            const std::vector<int32_t> &roundOf);
  /// One that is open.
  void take(size_t unit);

private:
  void add(size_t unit) {
    places[unit] = open.size();
    open.push_back(unit);
  }

  std::vector<size_t> open;   ///< in no order
  std::vector<size_t> places; ///< [units]: in `open`
  /// [units]: the first chunk that waits for this one, and the next one that
  /// waits for the same; or -1.
  std::vector<int32_t> waiting, next;
};

inline void OpenUnits::fill(const std::vector<Unit> &units,
                            const std::vector<int32_t> &roundOf) {
  places.resize(units.size());
  waiting.assign(units.size(), -1);
  next.assign(units.size(), -1);
  for (size_t i = 0; i < units.size(); ++i) {
    const int32_t before = units[i].before;
    if (before >= 0 && roundOf[size_t(before)] < 0)
      next[i] = std::exchange(waiting[size_t(before)], int32_t(i));
    else if (roundOf[i] < 0)
      add(i);
  }
}

inline void OpenUnits::take(size_t unit) {
  const size_t place = places[unit];
  open[place] = open.back();
  places[open[place]] = place;
  open.pop_back();
  for (int32_t i = waiting[unit]; i >= 0; i = next[size_t(i)])
    add(size_t(i));
}

} // namespace etc::rounds

#endif // ETC_LIB_OPTIMIZE_ROUNDS_OPENUNITS_H
