// What planning for least time takes itself.

#ifndef ETC_OPTIMIZE_PLANNINGTIME_H
#define ETC_OPTIMIZE_PLANNINGTIME_H

#include <cstddef>
#include <cstdint>

namespace etc {

/// What routes or rounds have to save, in seconds, to be looked for. Where many
/// devices differ in what they hold, lack or do, each has a program of its own;
/// if these are long as well, looking takes a second or more, and `leastGain`
/// is for these.
inline double gainWorthPlanning(int64_t transfers, size_t differing,
                                double leastGain) {
  constexpr int64_t manyTransfers = 100'000;
  constexpr size_t manyDiffering = 256;
  return transfers > manyTransfers && differing > manyDiffering ? leastGain : 0;
}

} // namespace etc

#endif // ETC_OPTIMIZE_PLANNINGTIME_H
