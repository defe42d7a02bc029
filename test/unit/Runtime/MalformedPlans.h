// Plans with one thing wrong each, and what etc-run says about it.

#ifndef ETC_TEST_MALFORMEDPLANS_H
#define ETC_TEST_MALFORMEDPLANS_H

#include "PlanFixture.h"

namespace etc::plan::test {

struct MalformedPlan {
  const char *name;
  fb::PlanT (*base)();
  void (*damage)(fb::PlanT &plan);
  const char *message;
};

/// The ops of one round.
inline std::vector<fb::Op> &ops(fb::PlanT &plan, size_t program, size_t round) {
  return plan.programs[program]->rounds[round]->ops;
}

extern const std::vector<MalformedPlan> kMalformedTables;
extern const std::vector<MalformedPlan> kMalformedPrograms;
extern const std::vector<MalformedPlan> kMalformedCertificates;

} // namespace etc::plan::test

#endif // ETC_TEST_MALFORMEDPLANS_H
