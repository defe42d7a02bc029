//===- RouteDemands.h - Demands as a routing problem ----------------------===//

#ifndef ETC_LIB_OPTIMIZE_SOURCES_ROUTEDEMANDS_H
#define ETC_LIB_OPTIMIZE_SOURCES_ROUTEDEMANDS_H

#include "etc/Optimize/Routing/Solution.h"
#include "etc/Optimize/Sources/Solver.h"

#include <map>
#include <optional>

namespace etc {

/// Demands become atoms of a routing problem, and its hops become sources.
class Router {
public:
  /// Of a fleet and a timing that outlive it. Nobody passes tensors of `direct`
  /// on without a need of them.
  Router(const Demands &demands, const Fleet &fleet, const Timing &timing,
         TensorSet direct = {});

  /// routing::findBounds, where all participants may pass on what they receive.
  std::vector<routing::Cut> findBounds() const;
  /// What the slowest link or NIC takes.
  routing::Time timeOf(const SourcedDemands &sourced) const;
  /// The same demands along the routes that lib/Optimize/Routing finds, cut
  /// where these divide them; nothing where they would not be faster than
  /// `sourced`, or send more between nodes although links are fast. With
  /// transit as far as the timing allows it. `bounds` are those of findBounds.
  std::optional<SourcedDemands>
  route(const SourcedDemands &sourced,
        const std::vector<routing::Cut> &bounds) const;

private:
  using DeviceSet = std::vector<int32_t>;
  /// Demands that are one atom.
  struct Group {
    llvm::SmallVector<unsigned> demands;
    /// One of the demands for the same pieces each: it lists those who pass
    /// them on.
    llvm::SmallBitVector isFirst;
    int64_t bytes = 0;
  };
  class Routes;

  void addResources();
  void addAtoms();
  int32_t numberOf(const DeviceSet &set);
  /// The problem in which all participants may pass on what they receive.
  routing::Problem withAll() const;
  std::optional<SourcedDemands> passOn(const routing::Time &without,
                                       int64_t most, int attempts) const;
  int64_t leastWindowOf(int64_t bytes) const;
  SourcedDemands apply(const routing::Solution &solution) const;
  void addDemand(SourcedDemands &result, const Demand &demand,
                 const Routes &routes, int64_t window, bool isFirst) const;

  const TensorSet direct;
  const Demands demands; ///< cut into what the same devices lack
  const Fleet &fleet;
  const Timing &timing;
  routing::Problem problem;
  std::map<DeviceSet, int32_t> numbers;
  std::vector<Group> groups; ///< [atom]
};

} // namespace etc

#endif // ETC_LIB_OPTIMIZE_SOURCES_ROUTEDEMANDS_H
