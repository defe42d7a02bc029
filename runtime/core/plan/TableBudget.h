// What a plan file may ask of a reader's memory.

#ifndef ETC_PLAN_TABLEBUDGET_H
#define ETC_PLAN_TABLEBUDGET_H

#include "core/plan/FormatRules.h"

#include <algorithm>

namespace etc::plan {

/// The bytes of tables that a condensed file states.
class TableBudget {
public:
  explicit TableBudget(uint64_t fileBytes)
      : most(std::min(mulBytes(fileBytes, kMostPerByte), kMostBytes)) {}

  /// Counts `count` entries of `size` bytes, which the reader makes or looks
  /// at.
  Status charge(uint64_t count, uint64_t size) {
    stated = addBytes(stated, mulBytes(count, size));
    return check();
  }
  /// Whether all that was counted may be asked for.
  Status check() const {
    return stated <= most
               ? Status::success()
               : malformed("condensed: states more than ", most,
                           " bytes of tables, which is the most for this file");
  }

private:
  /// Far more than a byte of any plan's file states, and little enough for a
  /// reader's memory.
  static constexpr uint64_t kMostPerByte = 1024;
  /// What an expanded plan may take in all, as FlatBuffers have it.
  static constexpr uint64_t kMostBytes = FLATBUFFERS_MAX_BUFFER_SIZE / 2;

  uint64_t most;
  uint64_t stated = 0;
};

} // namespace etc::plan

#endif // ETC_PLAN_TABLEBUDGET_H
