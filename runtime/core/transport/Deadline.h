// A time that several waits share.

#ifndef ETC_RUNTIME_CORE_TRANSPORT_DEADLINE_H
#define ETC_RUNTIME_CORE_TRANSPORT_DEADLINE_H

#include <algorithm>
#include <chrono>

namespace etc::runtime {

using Milliseconds = std::chrono::milliseconds;

/// Begins when it is made from a time; passed on, it is what is left of it.
class Deadline {
public:
  using Clock = std::chrono::steady_clock;

  Deadline(Milliseconds limit) : limit(limit), end(Clock::now() + limit) {}

  /// At least a millisecond, so that whoever waits looks once.
  Milliseconds left() const {
    auto rest = std::chrono::duration_cast<Milliseconds>(end - Clock::now());
    return std::max(rest, Milliseconds(1));
  }
  Deadline later(Milliseconds by) const {
    Deadline other = *this;
    other.limit += by;
    other.end += by;
    return other;
  }
  bool isOver() const { return Clock::now() >= end; }
  Clock::time_point time() const { return end; }
  /// For messages: the whole time.
  double seconds() const { return limit.count() / 1000.0; }

private:
  Milliseconds limit;
  Clock::time_point end;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_TRANSPORT_DEADLINE_H
