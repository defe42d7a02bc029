// Condensed plans whose tables and lists a test changes.

#ifndef ETC_TEST_UNIT_RUNTIME_CHANGEDLISTS_H
#define ETC_TEST_UNIT_RUNTIME_CHANGEDLISTS_H

#include "PlanFixture.h"

#include "core/plan/Condense.h"
#include "core/plan/CondensedLists.h"

#include <functional>

namespace etc::plan::test {

inline CondensedLists listsOf(const std::vector<uint8_t> &condensed) {
  return *unpackLists(*fb::GetPlan(condensed.data()));
}

using Change = std::function<void(fb::PlanT &, CondensedLists &)>;

/// A condensed plan with tables and lists that `change` has changed.
inline std::vector<uint8_t> changed(const std::vector<uint8_t> &condensed,
                                    const Change &change) {
  fb::PlanT plan;
  fb::GetPlan(condensed.data())->UnPackTo(&plan);
  CondensedLists lists = listsOf(condensed);
  change(plan, lists);
  if (plan.condensed)
    plan.condensed->packed = packLists(lists);
  return packPlan(std::move(plan));
}

} // namespace etc::plan::test

#endif // ETC_TEST_UNIT_RUNTIME_CHANGEDLISTS_H
