// Units that progress together.

#ifndef ETC_LIB_OPTIMIZE_ROUNDS_FLOWS_H
#define ETC_LIB_OPTIMIZE_ROUNDS_FLOWS_H

#include "etc/Optimize/Rounds/Problem.h"

namespace etc::rounds {

struct UnitFlows {
  std::vector<size_t> flows; ///< [units]: numbers, in order of appearance
  /// [units]: the share of its flow that is done when half of the unit is.
  std::vector<int64_t> shares;
};

/// Units of one flow touch the same classes in the same way. In level rounds,
/// what they pass on has come with one flow.
UnitFlows findFlows(const Problem &problem);

} // namespace etc::rounds

#endif // ETC_LIB_OPTIMIZE_ROUNDS_FLOWS_H
