// Writing what a device holds as a safetensors file.

#ifndef ETC_RUNTIME_STATE_CHECKPOINT_WRITESTATE_H
#define ETC_RUNTIME_STATE_CHECKPOINT_WRITESTATE_H

#include "core/pack/Copy.h"
#include "core/plan/PlanIndex.h"
#include "core/plan/Status.h"

#include <functional>

namespace etc::runtime {

using plan::PlanIndex;
using plan::Result;
using plan::Status;

/// Writes all elements of a region, a part of a box of a current shard.
using Produce = std::function<Status(uint32_t tensor, Region to)>;

/// As much is produced at a time.
constexpr uint64_t kSlabBytes = uint64_t{4} << 20;

/// Calls visit(slab) for boxes that follow each other in the dense, row-major
/// memory of `box` and have at most `most` elements.
Status forEachSlab(BoxView box, uint64_t most,
                   const std::function<Status(BoxView slab)> &visit);

/// Writes the current shards of a rank, slab by slab: every box is a tensor of
/// the file, and the file's metadata say where each stands. A rank without
/// current shards writes nothing. Returns the bytes.
Result<uint64_t> writeStateFile(const PlanIndex &index, uint32_t rank,
                                const std::string &directory,
                                const Produce &produce);

/// Reads that file again and compares every element with what `produce` says.
/// The error is of kind Verification where one differs.
Status checkStateFile(const PlanIndex &index, uint32_t rank,
                      const std::string &directory, const Produce &produce);

} // namespace etc::runtime

#endif // ETC_RUNTIME_STATE_CHECKPOINT_WRITESTATE_H
