#include "core/engine/StateSource.h"

#include "core/engine/StateCheck.h"

using namespace etc::runtime;

etc::plan::Status StateSource::check(const plan::PlanIndex &index, uint32_t,
                                     uint32_t tensor,
                                     ConstRegion region) const {
  return checkRegion(index, tensor, plan::Side::Curr, region);
}
