// Plans of one lane, of the plans of PlanFixture.h.

#ifndef ETC_TEST_LANEFIXTURE_H
#define ETC_TEST_LANEFIXTURE_H

#include "PlanFixture.h"

namespace etc::plan::test {

/// A plan of one of three lanes, which split the first axis of all tensors but
/// those of `shared`.
inline fb::PlanT ofLane(fb::PlanT plan, std::vector<uint32_t> shared = {}) {
  plan.features |= kLanesFeature;
  plan.lanes = std::make_unique<fb::LanesT>();
  plan.lanes->count = 3;
  plan.lanes->axes.assign(plan.tensors.size(), 0);
  plan.lanes->view_axes.assign(plan.tensors.size(), -1);
  for (uint32_t tensor : shared)
    plan.lanes->axes[tensor] = -1;
  return plan;
}

} // namespace etc::plan::test

#endif // ETC_TEST_LANEFIXTURE_H
