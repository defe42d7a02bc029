// How fast a sender may send.

#ifndef ETC_RUNTIME_CORE_TRANSPORT_PACE_H
#define ETC_RUNTIME_CORE_TRANSPORT_PACE_H

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace etc::runtime {

/// A bucket of tokens. Any thread may set the rate; one sends.
class Pace {
public:
  /// In bytes a second; 0: no limit.
  void set(uint64_t bytesPerSecond) { rate = bytesPerSecond; }

  /// Of `wanted` bytes, how many may go now. Where none may, it is worth a nap.
  size_t allowed(size_t wanted) {
    const uint64_t limit = rate;
    if (limit == 0)
      return wanted;
    const auto now = std::chrono::steady_clock::now();
    const std::chrono::duration<double> passed = now - last;
    last = now;
    const double most = std::max<double>(kLeast, limit * kDepth);
    tokens = std::min(most, tokens + passed.count() * limit);
    return tokens < std::min<double>(kLeast, wanted)
               ? 0
               : std::min(wanted, static_cast<size_t>(tokens));
  }
  void sent(size_t bytes) { tokens -= static_cast<double>(bytes); }

  /// What so many bytes take at a rate: no time where there is no limit, and no
  /// more than clocks have room for.
  static std::chrono::milliseconds timeOf(uint64_t bytes,
                                          uint64_t bytesPerSecond) {
    using namespace std::chrono;
    const duration<double> time(
        bytesPerSecond == 0 ? 0.0
                            : static_cast<double>(bytes) / bytesPerSecond);
    return duration_cast<milliseconds>(
        std::min<duration<double>>(time, hours(365 * 24)));
  }

  static constexpr std::chrono::milliseconds kNap{1};

private:
  static constexpr double kLeast = 16 << 10; // bytes that are worth a call
  static constexpr double kDepth = 0.01;     // seconds of a burst

  std::atomic<uint64_t> rate{0};
  double tokens = 0;
  std::chrono::steady_clock::time_point last{};
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_TRANSPORT_PACE_H
