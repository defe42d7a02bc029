#include "recovery/Making.h"

using namespace etc::runtime;

std::optional<Making> etc::runtime::findMaking(const plan::PlanIndex &index,
                                               uint32_t source,
                                               uint32_t tensor) {
  const uint32_t primary = index.primary(tensor);
  if (index.primary(source) == primary)
    return Making::Copy;
  const int32_t origin = index.tensor(primary).derived_from();
  if (origin >= 0 && index.primary(source) == index.primary(origin))
    return Making::Cast;
  return std::nullopt;
}
