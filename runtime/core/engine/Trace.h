// What every device did when.

#ifndef ETC_RUNTIME_CORE_ENGINE_TRACE_H
#define ETC_RUNTIME_CORE_ENGINE_TRACE_H

#include <chrono>
#include <cstdint>
#include <mutex>
#include <vector>

namespace etc::runtime {

/// One step of a device. Times count from the clock's epoch, which processes of
/// a host share.
struct TraceEvent {
  uint32_t device;
  uint32_t round;
  const char *step; // a literal
  std::chrono::steady_clock::time_point begin, end;
};

/// The steps of all devices of a process.
class TraceLog {
public:
  void add(TraceEvent event) {
    std::lock_guard lock(mutex);
    events_.push_back(event);
  }

  /// When no device runs any more.
  const std::vector<TraceEvent> &events() const { return events_; }

private:
  std::mutex mutex;
  std::vector<TraceEvent> events_;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_ENGINE_TRACE_H
