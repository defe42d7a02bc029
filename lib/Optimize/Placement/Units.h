// What stays together on a node, and which contents nodes need for it.

#ifndef ETC_LIB_OPTIMIZE_PLACEMENT_UNITS_H
#define ETC_LIB_OPTIMIZE_PLACEMENT_UNITS_H

#include "etc/Optimize/Placement/Entering.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <map>

namespace etc::placement {

/// Ranks that stay together, and their devices.
struct Unit {
  std::vector<int64_t> ranks, devices;
  int32_t kind = 0; ///< units of one kind have the same roles
};

/// The units of a placement: tensor-parallel groups under Tp and Pack, ranks
/// under Any.
class Units {
public:
  using Contents = std::vector<int32_t>;

  Units(const Problem &problem, const Entering &entering,
        const std::vector<int64_t> &deviceOf);

  /// Whether every unit is on one node. There are no others where not, or where
  /// the contents of nodes would be too many to count.
  bool areWhole() const { return !units.empty(); }
  size_t size() const { return units.size(); }
  Unit &operator[](size_t number) { return units[number]; }
  const Unit &operator[](size_t number) const { return units[number]; }
  size_t numberOf(const Unit &unit) const {
    return size_t(&unit - units.begin());
  }

  int32_t nodes() const { return int32_t(ofNode.size()); }
  int32_t nodeOf(const Unit &unit) const {
    return problem.devices[size_t(unit.devices.front())].node;
  }
  /// The units of a node.
  llvm::ArrayRef<size_t> onNode(int32_t node) const {
    return ofNode[size_t(node)];
  }
  const Contents &contentsOf(const Unit &unit) const {
    return contents[size_t(unit.kind)];
  }

  /// How many units of a node need a content.
  int32_t countOf(int32_t node, int32_t content) const {
    return counts[size_t(node) * entering.lacking.size() + size_t(content)];
  }
  int64_t lackingOf(int32_t node, int32_t content) const {
    return entering
        .lacking[size_t(content)][size_t(problem.nodeClass[size_t(node)])];
  }
  /// How many bytes more enter a node that gives a unit up and takes another.
  int64_t enteringOf(int32_t node, const Contents *removed,
                     const Contents *added) const;
  /// What a unit keeps on some devices.
  int64_t keptBy(const Unit &unit, llvm::ArrayRef<int64_t> devices) const;

  /// Counts a unit on another node; its devices are the caller's.
  void move(size_t number, int32_t from, int32_t to);

private:
  void count(const Unit &unit, int32_t node, int32_t change);
  int32_t kindOf(const Unit &unit);

  const Problem &problem;
  const Entering &entering;
  llvm::SmallVector<Unit> units;
  std::map<std::vector<int64_t>, int32_t> kinds; ///< by roles
  std::vector<Contents> contents;                ///< [kind]
  llvm::SmallVector<llvm::SmallVector<size_t>> ofNode;
  std::vector<int32_t> counts; ///< [node][content] units that need it
};

} // namespace etc::placement

#endif // ETC_LIB_OPTIMIZE_PLACEMENT_UNITS_H
