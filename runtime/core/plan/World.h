// The devices of a plan's cluster, and those that take part. A slice has them
// in short.

#ifndef ETC_PLAN_WORLD_H
#define ETC_PLAN_WORLD_H

#include "core/plan/Status.h"
#include "core/plan/plan_generated.h"

#include <cstdint>
#include <vector>

namespace etc::plan {

struct World {
  std::vector<uint32_t> nodes;        ///< devices of each
  std::vector<uint32_t> participants; ///< ascending
};

/// The world of a plan or a slice. Fails where a slice has it in a form that
/// toSpans and toRuns do not write, or states more than 2^24 nodes or
/// participants.
Result<World> readWorld(const fb::Plan &plan);

/// Ascending numbers as begin0, end0, begin1, end1, ...
std::vector<uint32_t> toSpans(const std::vector<uint32_t> &numbers);
/// Numbers as count0, number0, count1, number1, ...
std::vector<uint32_t> toRuns(const std::vector<uint32_t> &numbers);

} // namespace etc::plan

#endif // ETC_PLAN_WORLD_H
