// Who holds what, in the form that the planner reads.

#ifndef ETC_RUNTIME_STATE_INVENTORY_INVENTORY_H
#define ETC_RUNTIME_STATE_INVENTORY_INVENTORY_H

#include "core/journal/HeldShards.h"

#include <map>
#include <optional>

namespace etc::runtime {

/// By rank; nothing where a device and its memory are gone.
using Survivors = std::vector<std::optional<Standing>>;

/// A box of a previous tensor.
struct TensorBox {
  uint32_t tensor;
  Box box;
};

/// The boxes that went with their last holder. Elements that a tied copy or the
/// tensor it is cast from still has are not lost, nor are those that the
/// migration dropped, because the new configuration does not have them.
std::vector<TensorBox> findLost(const PlanIndex &index,
                                const Survivors &survivors);

/// The boxes of a side's state that no survivor holds under their own name: a
/// plan from an inventory takes each tensor from where it is.
std::vector<TensorBox> findUnheld(const PlanIndex &index,
                                  const Survivors &survivors,
                                  Side side = Side::Prev);

/// What a device holds: disjoint boxes, by tensor.
using Held = std::map<uint32_t, std::vector<Box>>;
/// By rank; nothing for one that did not survive.
using Inventory = std::vector<std::optional<Held>>;

Inventory takeInventory(const PlanIndex &index, const Survivors &survivors);

/// Shares boxes out among the survivors, to whom a checkpoint will bring them.
void share(const PlanIndex &index, const std::vector<TensorBox> &boxes,
           Inventory &inventory);

/// Of which side shapes are written where the two differ.
enum class Shapes { Both, Curr };

/// An inventory as JSON (docs/reliability.md describes it). A device holds at
/// most one shard a tensor.
std::string formatInventory(const PlanIndex &index, const Inventory &inventory,
                            Shapes shapes = Shapes::Both);

/// The same of one device: what a plan says that it holds after so much of the
/// migration.
std::string formatHeld(const PlanIndex &index, uint32_t rank,
                       const Standing &standing);

/// Writes it in one step: the file is there whole or not at all.
Status writeInventory(const PlanIndex &index, const Inventory &inventory,
                      const std::string &path, Shapes shapes = Shapes::Both);

} // namespace etc::runtime

#endif // ETC_RUNTIME_STATE_INVENTORY_INVENTORY_H
