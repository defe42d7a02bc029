// Which current tensors of a device are there, for threads that wait for them.

#ifndef ETC_RUNTIME_CORE_ENGINE_ARRIVALS_H
#define ETC_RUNTIME_CORE_ENGINE_ARRIVALS_H

#include "core/plan/PlanIndex.h"

#include <condition_variable>
#include <mutex>
#include <vector>

namespace etc::runtime {

/// A tensor is there when the last round that writes it has ended. One thread
/// executes rounds and tells; any thread may ask. Positions are those of the
/// program's current holdings.
class Arrivals {
public:
  Arrivals(const plan::PlanIndex &index, uint32_t program);

  /// Rounds end in order; `count` have by now.
  void ended(uint32_t count);
  /// No further round ends.
  void stop();

  bool isOver() const; // stopped
  uint32_t endedRounds() const;
  bool has(size_t position) const;
  /// Waits until the tensor is there; false where it will never be.
  bool wait(size_t position);

private:
  std::vector<uint32_t> rounds; // by position: how many have to end
  mutable std::mutex mutex;
  std::condition_variable changed;
  uint32_t count = 0;
  bool isStopped = false;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_CORE_ENGINE_ARRIVALS_H
