// A time that no assignment of roles is below. docs/placement.md has the model.

#ifndef ETC_OPTIMIZE_PLACEMENT_ROLEBOUND_H
#define ETC_OPTIMIZE_PLACEMENT_ROLEBOUND_H

#include <cstdint>
#include <optional>
#include <vector>

namespace etc::placement {

/// A node, or a device.
struct Cell {
  int64_t nics = 0;      ///< of a node
  bool isUsable = false; ///< some device of it may take a role
};

/// Cells that hold the same.
struct CellColumn {
  std::vector<Cell> cells;
  int64_t capacity = 0; ///< devices of its cells that may take a role
  int64_t holders = 0;  ///< devices of its cells that hold state
};

/// All bytes that the same roles need.
struct RoleContent {
  std::vector<int32_t> rows; ///< these roles, ascending
  int64_t ranks = 0;         ///< their ranks
  int64_t together = 1;      ///< the most of these that one cell can have
  int64_t bytes = 0;
  std::vector<int64_t> lacking; ///< [columns] what a cell of it does not hold
};

/// Which roles are where is open; what they need, what cells hold and what NICs
/// and links carry is not.
struct RoleTimes {
  bool ofDevices = false; ///< cells are devices
  int64_t rows = 0;       ///< roles,
  int64_t replicas = 1;   ///< of so many ranks each
  int64_t mostCells = 0;  ///< cells that roles can be on
  int64_t nics = 0;       ///< of all nodes that have usable devices
  int64_t linkRate = 0;   ///< bytes a second of a device; 0 without neighbours
  int64_t nicRate = 0;    ///< of a NIC
  std::vector<CellColumn> columns;
  std::vector<RoleContent> contents;
};

enum class RoleWitness : uint8_t { Each, Others, Fewest };

/// No assignment takes less than bytes / rate seconds.
struct RoleBound {
  RoleWitness witness = RoleWitness::Each;
  std::vector<int64_t> inside; ///< columns, ascending
  std::vector<int64_t> u;      ///< [rows] duals; none for Fewest
  std::vector<int64_t> v;      ///< [columns]
  int64_t bytes = 0, rate = 1;
};

/// The largest of a few: of cells that hold nothing, of those that hold little,
/// and of all, each by an assignment whose duals prove it; and what the fewest
/// cells cannot hold. Nothing where none is above 0. Only integers; the same
/// problem gives the same bound on any machine.
std::optional<RoleBound> findRoleBound(const RoleTimes &times);

/// Whether a bound is the lower one.
bool isLess(const RoleBound &a, const RoleBound &b);

} // namespace etc::placement

#endif // ETC_OPTIMIZE_PLACEMENT_ROLEBOUND_H
