// R10: the pause moves what is not deferred, and nothing else.

#include "core/plan/RefereeRules.h"

using namespace etc::plan;

static Status checkOp(const PlanIndex &index, uint32_t program, bool isTail,
                      const fb::Op &op) {
  for (uint32_t tensor : {op.tensor(), op.source()}) {
    const bool isDeferred = index.isDeferred(tensor);
    if (isTail && !isDeferred)
      return malformed("is deferred, but ", index.describeTensor(tensor),
                       " is not");
    // What stays where it is takes no time.
    if (!isTail && isDeferred && !index.bindsMemory(program, op))
      return malformed("is not deferred, but ", index.describeTensor(tensor),
                       " is");
  }
  return Status::success();
}

Status etc::plan::checkDeferred(const PlanIndex &index, uint32_t program) {
  for (uint32_t r = 0; r != roundsOf(index, program); ++r) {
    const auto &ops = opsOf(index, program, r);
    const bool isTail = r >= index.firstDeferredRound();
    for (uint32_t o = 0; o != ops.size(); ++o)
      if (Status s = checkOp(index, program, isTail, *ops.Get(o)); !s.ok())
        return s.at(opPath(program, r, o));
  }
  return Status::success();
}
