// The checks of a plan's tables, one file a kind of table; private to
// checkFormat.

#ifndef ETC_PLAN_FORMATRULES_H
#define ETC_PLAN_FORMATRULES_H

#include "plan/Box.h"
#include "plan/Status.h"

namespace etc::plan {

using Longs = flatbuffers::Vector<int64_t>;
using Uints = flatbuffers::Vector<uint32_t>;

Status checkTensors(const fb::Plan &plan);
/// Needs sound tensors.
Status checkShards(const fb::Plan &plan);
/// Needs sound participants, tensors and shards.
Status checkPrograms(const fb::Plan &plan);

/// That the numbers at `offset` in the plan's bounds are a box of `tensor`,
/// within its larger side. Messages go on from the box's path.
Status checkBox(const fb::Plan &plan, uint32_t offset, uint32_t tensor);
Status checkAscending(const std::string &path, const Uints &list);
Status outOfRange(const std::string &path, uint64_t value, uint64_t end);

/// The error of a part whose message goes on from its path. Paths are made up
/// for errors only: a plan has many parts.
inline Status under(const std::string &path, const Status &error) {
  return Status(error.kind(), path + error.message());
}

/// "list[3]".
inline std::string item(const std::string &list, uint64_t index) {
  return list + "[" + std::to_string(index) + "]";
}

} // namespace etc::plan

#endif // ETC_PLAN_FORMATRULES_H
