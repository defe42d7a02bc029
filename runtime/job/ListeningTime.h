// How long peers have been silent.

#ifndef ETC_RUNTIME_JOB_LISTENINGTIME_H
#define ETC_RUNTIME_JOB_LISTENINGTIME_H

#include <algorithm>
#include <chrono>

namespace etc::runtime {

/// Time that passes while this process listens. Where it is stopped, or gets no
/// processor, between two looks, one step at most counts: what its peers have
/// said meanwhile is yet to be heard, and they may have been stopped as well.
class ListeningTime {
public:
  using Clock = std::chrono::steady_clock;

  explicit ListeningTime(Clock::duration step) : step(step) {}

  /// Called at each look.
  void look() {
    const Clock::time_point time = Clock::now();
    passed += std::min(time - last, step);
    last = time;
  }
  /// For differences alone.
  Clock::time_point now() const { return passed; }

private:
  const Clock::duration step;
  Clock::time_point last = Clock::now(), passed = last;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_JOB_LISTENINGTIME_H
