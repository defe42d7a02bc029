// Boxes that are cut so that each part is contiguous in the packed whole.

#ifndef ETC_RUNTIME_RECOVERY_SLABS_H
#define ETC_RUNTIME_RECOVERY_SLABS_H

#include "etc/Geometry.h"

#include <cstdint>
#include <vector>

namespace etc::runtime {

/// The parts of a box, in the order of its elements. Each has at most
/// `mostElements` of them, or is one row of the first axis that can be cut.
std::vector<Box> cutIntoSlabs(BoxView box, uint64_t mostElements);

} // namespace etc::runtime

#endif // ETC_RUNTIME_RECOVERY_SLABS_H
