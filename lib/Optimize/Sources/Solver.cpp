//===- Solver.cpp - Who sends what devices lack ---------------------------===//

#include "etc/Optimize/Sources/Solver.h"

#include "ChooseSources.h"
#include "RouteDemands.h"
#include "SpreadSources.h"

using namespace etc;

/// Relays of finer fragments are taken where they leave at most so much of the
/// bytes between nodes or at the busiest port: they are more instructions.
static constexpr int64_t finerPercent = 98;

/// Takes finer demands where they are worth it.
static SourcedDemands solveByBytes(Demands demands, const Fleet &fleet) {
  SourceChoice choice = chooseSources(demands, fleet);
  if (choice.hasRelays) {
    Demands finer = demands.splitByTakers();
    SourceChoice other = chooseSources(finer, fleet);
    if (other.cost.isWorthwhile(choice.cost, finerPercent)) {
      demands = std::move(finer);
      choice = std::move(other);
    }
  }
  if (!choice.hasRelays && choice.leastBusiest < choice.cost.getBusiest()) {
    SourcedDemands spread = spreadSources(demands, choice, fleet);
    // Else nothing that can be cut is as fine.
    if (spread.choice.cost.getBusiest() < choice.cost.getBusiest())
      return spread;
  }
  return {std::move(demands), std::move(choice)};
}

SourcedDemands etc::solveSources(Demands demands, const Fleet &fleet,
                                 const Timing *timing) {
  SourcedDemands sourced = solveByBytes(std::move(demands), fleet);
  if (!timing || sourced.demands.size() == 0)
    return sourced;
  const Router router(sourced.demands, fleet, *timing);
  std::vector<routing::Cut> bounds = router.findBounds();
  if (timing->choosesRoutes)
    if (auto routed = router.route(sourced, bounds)) {
      sourced = std::move(*routed);
      sourced.isRouted = true;
    }
  sourced.bounds = std::move(bounds);
  return sourced;
}

SourcedDemands etc::solveInTurn(Demands demands, const Fleet &fleet,
                                const Timing *timing) {
  SourceChoice choice = chooseHolders(demands, fleet);
  SourcedDemands sourced = {std::move(demands), std::move(choice)};
  if (timing && sourced.demands.size() > 0)
    sourced.bounds = Router(sourced.demands, fleet, *timing).findBounds();
  return sourced;
}
