// How long peers have been silent.

#ifndef ETC_RUNTIME_JOB_LISTENINGTIME_H
#define ETC_RUNTIME_JOB_LISTENINGTIME_H

#include <algorithm>
#include <chrono>

namespace etc::runtime {

/// Between two signs of life.
constexpr std::chrono::milliseconds kBeatTime{250};

/// Of the time between two looks, what counts as a peer's silence. Where this
/// process is stopped, or gets no processor, two beats at most: what its peers
/// have said meanwhile is yet to be heard, and they may have been stopped as
/// well.
template <typename Time>
Time listened(Time elapsed, std::chrono::milliseconds beat = kBeatTime) {
  return std::min<Time>(elapsed, 2 * beat);
}

/// Time that passes while this process listens, for those who look by a clock.
class ListeningTime {
public:
  using Clock = std::chrono::steady_clock;

  explicit ListeningTime(std::chrono::milliseconds beat = kBeatTime)
      : beat(beat) {}

  /// Called at each look.
  void look() {
    const Clock::time_point time = Clock::now();
    passed += listened(time - last, beat);
    last = time;
  }
  /// For differences alone.
  Clock::time_point now() const { return passed; }

private:
  const std::chrono::milliseconds beat;
  Clock::time_point last = Clock::now(), passed = last;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_JOB_LISTENINGTIME_H
