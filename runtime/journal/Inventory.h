// Who holds what, in the form that the planner reads.

#ifndef ETC_RUNTIME_JOURNAL_INVENTORY_H
#define ETC_RUNTIME_JOURNAL_INVENTORY_H

#include "journal/Holdings.h"

#include <optional>

namespace etc::runtime {

/// By rank; nothing where a device and its memory are gone.
using Survivors = std::vector<std::optional<Standing>>;

/// The inventory as JSON (docs/reliability.md describes it). A device holds at
/// most one shard a tensor, of disjoint boxes.
std::string formatInventory(const PlanIndex &index, const Survivors &survivors);

/// Writes it in one step: the file is there whole or not at all.
Status writeInventory(const PlanIndex &index, const Survivors &survivors,
                      const std::string &path);

/// The tensors, by name and box, of which no survivor has all bytes. Elements
/// that a tied copy or the tensor it is cast from still has are not lost.
std::vector<std::string> findLost(const PlanIndex &index,
                                  const Survivors &survivors);

} // namespace etc::runtime

#endif // ETC_RUNTIME_JOURNAL_INVENTORY_H
