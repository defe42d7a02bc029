// What the certificates of a plan say: bounds, and the plans that they hold
// for.

#ifndef ETC_PLAN_CERTIFICATES_H
#define ETC_PLAN_CERTIFICATES_H

#include "core/plan/PlanIndex.h"

#include <cstdint>
#include <span>
#include <vector>

namespace etc::plan {

/// Null where the plan has none of the quantity.
const fb::Certificate *findCertificate(const fb::Plan &plan,
                                       fb::Quantity quantity);

/// The plans that at least one of a plan's bounds does not hold for.
struct Exceptions {
  bool relays = false, twins = false, recomputation = false;
};
Exceptions exceptionsOf(const fb::Plan &plan);

/// The columns of an assignment: roles of the previous configuration, by
/// number, that the devices of a column hold or reach. Ascending.
struct Columns {
  std::vector<std::vector<uint64_t>> roles;
  std::vector<uint64_t> devices; ///< [column] how many may take a role
};

/// A column a previous role.
Columns columnsOfDevices(const PlanIndex &index);
/// A column a class of nodes whose devices hold the same previous roles, by its
/// first node.
Columns columnsOfNodes(const PlanIndex &index);

/// What current roles have in the end of tensors that move, over all devices:
/// what is sent to them, and what they keep. `copies` says how many devices
/// each rank stands for; empty: one each.
uint64_t neededBytes(const PlanIndex &index,
                     std::span<const uint64_t> copies = {});

/// The most bytes that an assignment keeps by a certificate's duals. `columns`
/// are those of its quantity.
uint64_t keptAtMost(const fb::Plan &plan, const fb::Certificate &certificate,
                    const Columns &columns);

} // namespace etc::plan

#endif // ETC_PLAN_CERTIFICATES_H
