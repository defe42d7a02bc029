// What the programs of a plan add up to.

#ifndef ETC_PLAN_TOTALS_H
#define ETC_PLAN_TOTALS_H

#include "core/plan/PlanIndex.h"

#include <cstdint>
#include <span>
#include <vector>

namespace etc::plan {

/// Bytes of all devices, but for those of the busiest.
struct Totals {
  /// `copies` says how many devices each rank stands for; empty: one each.
  explicit Totals(const PlanIndex &index,
                  std::span<const uint64_t> copies = {});

  struct Round {
    uint64_t moved = 0, busiest = 0;
  };

  uint64_t moved = 0, kept = 0, zeroed = 0, derived = 0, internode = 0,
           transit = 0;
  uint64_t maxSend = 0, maxRecv = 0;
  uint64_t held = 0; ///< in the end
  std::vector<Round> rounds;

private:
  void addProgram(const PlanIndex &index, uint32_t program,
                  std::span<const uint64_t> copies);
  uint64_t *localTotal(fb::OpKind kind);
};

} // namespace etc::plan

#endif // ETC_PLAN_TOTALS_H
