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

  /// routing::findBounds, where all participants may pass on what they receive,
  /// and what they have of a tied tensor serves for its twins.
  std::vector<routing::Cut> findBounds() const;
  /// The problem of these bounds, if it is one in which tolls are looked for.
  std::optional<routing::Problem> poseTolls() const;
  /// What the slowest link or NIC takes.
  routing::Time timeOf(const SourcedDemands &sourced) const;
  /// Whether routes could be much faster, but not by so much that they are
  /// worth planning.
  bool isLeftOut(const SourcedDemands &sourced,
                 const std::vector<routing::Cut> &bounds) const;
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
  /// Of a set in a problem, by the numbers of those that it has.
  using SetNumbers = std::map<DeviceSet, int32_t>;
  static int32_t numberOf(const DeviceSet &set, SetNumbers &numbers,
                          routing::Problem &problem);
  /// The problem in which all participants may pass on what they receive.
  routing::Problem withAll() const;
  /// The same with tied tensors as contents, which demands list for each twin.
  routing::Problem withContents() const;
  routing::Problem bounded() const {
    return timing.tied.tensors.any() ? withContents() : withAll();
  }
  int64_t countTied(const Group &group) const;
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
  SetNumbers numbers;
  std::vector<Group> groups; ///< [atom]
};

/// Adds tolls to bounds, if a plan takes more than a hundredth longer than all
/// of them and tolls show why.
void addTolls(const routing::Problem &problem, const routing::Time &time,
              std::vector<routing::Cut> &bounds);

} // namespace etc

#endif // ETC_LIB_OPTIMIZE_SOURCES_ROUTEDEMANDS_H
