// What a device does and holds, round by round.

#ifndef ETC_RUNTIME_VIEW_REPORT_DEVICEROUNDS_H
#define ETC_RUNTIME_VIEW_REPORT_DEVICEROUNDS_H

#include "core/plan/PlanIndex.h"

#include <cstdint>
#include <vector>

namespace etc::runtime {

/// Bytes of a device of one program, in eager mode.
struct DeviceRounds {
  /// Live bytes, staging included: at first, while a round runs, and after its
  /// releases.
  uint64_t before = 0;
  std::vector<uint64_t> during, after;
  std::vector<uint64_t> sent, received;
};

DeviceRounds deviceRoundsOf(const plan::PlanIndex &index, uint32_t program);

} // namespace etc::runtime

#endif // ETC_RUNTIME_VIEW_REPORT_DEVICEROUNDS_H
