// What happens to which tensors.

#ifndef ETC_RUNTIME_VIEW_REPORT_TENSORS_H
#define ETC_RUNTIME_VIEW_REPORT_TENSORS_H

#include "core/plan/PlanIndex.h"

#include <cstdint>
#include <string>
#include <vector>

namespace etc::runtime {

/// Tensors of one state type whose names have the same pattern, over all
/// devices.
struct TensorVolumes {
  std::string name; // "decoder.layers.{layer}.mlp.linear_fc1.weight"
  std::string type;
  uint64_t moved = 0, kept = 0, derived = 0, zeroed = 0;

  uint64_t all() const { return moved + kept + derived + zeroed; }
};

/// The largest first. What would be too many rows is summed up in one for each
/// type, "(others)".
std::vector<TensorVolumes> tensorVolumes(const plan::PlanIndex &index);

} // namespace etc::runtime

#endif // ETC_RUNTIME_VIEW_REPORT_TENSORS_H
