// A device's share of a tensor, as a trainer has it.

#ifndef ETC_RUNTIME_CAPI_TENSORINFO_H
#define ETC_RUNTIME_CAPI_TENSORINFO_H

#include "capi/Handles.h"

namespace etc::runtime {

/// The share that a program's holding is. Strings are the plan's.
etc_tensor_info describe(const PlanIndex &index, Side side, Holding holding);

/// "[384, 3072]".
std::string describeShape(const int64_t *shape, uint32_t axes);

/// "bf16".
const char *dtypeName(etc_dtype dtype);

/// Whether a caller's tensor is the memory that `expected` describes: its
/// dtype, its shape (or the planning box's, or a flat one), and dense strides.
/// The error says what was expected.
Status checkTensor(const etc_tensor &tensor, const etc_tensor_info &expected);

} // namespace etc::runtime

#endif // ETC_RUNTIME_CAPI_TENSORINFO_H
