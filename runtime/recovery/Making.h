// Which tensors of a plan have elements from which another one's can be made.

#ifndef ETC_RUNTIME_RECOVERY_MAKING_H
#define ETC_RUNTIME_RECOVERY_MAKING_H

#include "core/plan/PlanIndex.h"

#include <optional>

namespace etc::runtime {

enum class Making {
  Copy, // a tied copy, or the tensor itself: equal elements
  Cast, // the elements are cast from it
};

/// How the elements of `tensor` are made from those of `source` at the same
/// places, or nothing where they are not.
std::optional<Making> findMaking(const plan::PlanIndex &index, uint32_t source,
                                 uint32_t tensor);

} // namespace etc::runtime

#endif // ETC_RUNTIME_RECOVERY_MAKING_H
