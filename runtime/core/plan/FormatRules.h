// The checks of a plan's tables, one file a kind of table; private to
// checkFormat and checkLists.

#ifndef ETC_PLAN_FORMATRULES_H
#define ETC_PLAN_FORMATRULES_H

#include "core/plan/Status.h"
#include "core/plan/TensorSize.h"
#include "etc/Geometry.h"

#include <span>

namespace etc::plan {

using Longs = flatbuffers::Vector<int64_t>;
using Uints = flatbuffers::Vector<uint32_t>;
using Ulongs = flatbuffers::Vector<uint64_t>;

/// No cluster has more, and a plan may take a table entry for each.
constexpr uint64_t kMostDevices = uint64_t{1} << 24;

/// Sizes, stages and order of one. Messages go on from its path.
Status checkConfiguration(const fb::Configuration &configuration);
/// Configurations, and the placement of their ranks on `deviceCount` devices.
Status checkConfigurations(const fb::Plan &plan, uint64_t deviceCount);
/// That a role is one of a sound configuration; none always is. Messages go on
/// from the role's path.
Status checkRole(const fb::Configuration &configuration, const fb::Role *role);
Status checkTensors(const fb::Plan &plan);
/// Its dtype and shapes alone. Messages go on from the tensor's path.
Status checkShapes(const fb::Tensor &tensor);
/// Needs sound tensors.
Status checkShards(const fb::Plan &plan);
/// Needs sound configurations, participants, tensors and shards.
Status checkPrograms(const fb::Plan &plan);

/// Barred devices and certificates. Needs sound configurations.
Status checkCertificates(const fb::Plan &plan);

/// Resources, and the bound of time.
Status checkResources(const fb::Plan &plan);

/// That the numbers at `offset` in `bounds` are a box of `tensor`, whose shapes
/// are sound, within its larger side. Messages go on from the box's path.
Status checkBox(std::span<const int64_t> bounds, uint32_t offset,
                const fb::Tensor &tensor);
inline std::span<const int64_t> boundsOf(const fb::Plan &plan) {
  return {plan.bounds()->data(), plan.bounds()->size()};
}
Status checkAscending(const std::string &path, const Uints &list);
Status outOfRange(const std::string &path, uint64_t value, uint64_t end);

/// The error of a part whose message goes on from its path. Paths are made up
/// for errors only: a plan has many parts.
inline Status under(const std::string &path, const Status &error) {
  return Status(error.kind(), path + error.message());
}

/// Entries of a list that may be absent.
template <typename Vector> uint64_t sizeOf(const Vector *vector) {
  return vector ? vector->size() : 0;
}

/// "list[3]".
inline std::string item(const std::string &list, uint64_t index) {
  return list + "[" + std::to_string(index) + "]";
}

} // namespace etc::plan

#endif // ETC_PLAN_FORMATRULES_H
