//===- Solver.cpp - Who sends what devices lack ---------------------------===//

#include "etc/Optimize/Sources/Solver.h"

#include "ChooseSources.h"
#include "RouteDemands.h"
#include "SpreadSources.h"

#include <optional>

using namespace etc;

/// Relays of finer fragments are taken where they leave at most so much of the
/// bytes between nodes or at the busiest port: they are more instructions.
static constexpr int64_t finerPercent = 98;

/// Takes finer demands where they are worth it.
static SourceChoice chooseByBytes(Demands &demands, const Fleet &fleet) {
  SourceChoice choice = chooseSources(demands, fleet);
  if (choice.hasRelays) {
    Demands finer = demands.splitByTakers();
    SourceChoice other = chooseSources(finer, fleet);
    if (other.cost.isWorthwhile(choice.cost, finerPercent)) {
      demands = std::move(finer);
      choice = std::move(other);
    }
  }
  return choice;
}

/// Nothing where nothing that can be cut is as fine.
static std::optional<SourcedDemands> spreadByBytes(const Demands &demands,
                                                   const SourceChoice &choice,
                                                   const Fleet &fleet) {
  if (choice.hasRelays || choice.leastBusiest >= choice.cost.getBusiest())
    return std::nullopt;
  SourcedDemands spread = spreadSources(demands, choice, fleet);
  if (spread.choice.cost.getBusiest() >= choice.cost.getBusiest())
    return std::nullopt;
  return spread;
}

/// What is spread is cut for each destination, so that several demands may be
/// for the same bytes: bounds are found before that, and the problem of tolls
/// is posed while these demands are there.
SourcedDemands etc::solveSources(Demands demands, const Fleet &fleet,
                                 const Timing *timing) {
  SourceChoice choice = chooseByBytes(demands, fleet);
  std::optional<Router> router, ofSpread;
  std::vector<routing::Cut> bounds;
  std::optional<routing::Problem> ofTolls;
  if (timing && demands.size() > 0) {
    bounds = router.emplace(demands, fleet, *timing).findBounds();
    ofTolls = router->poseTolls();
  }
  std::optional<SourcedDemands> spread = spreadByBytes(demands, choice, fleet);
  SourcedDemands sourced;
  if (spread)
    sourced = std::move(*spread);
  else
    sourced = {std::move(demands), std::move(choice)};
  if (router && timing->choosesRoutes) {
    const Router &its =
        spread ? ofSpread.emplace(sourced.demands, fleet, *timing) : *router;
    if (its.isLeftOut(sourced, bounds)) {
      sourced.isLeftOut = true;
    } else if (auto routed = its.route(sourced, bounds)) {
      sourced = std::move(*routed);
      sourced.isRouted = true;
    }
  }
  if (ofTolls)
    if (const routing::Time time = router->timeOf(sourced);
        timing->fasterThan == 0 || time.seconds() < timing->fasterThan)
      addTolls(*ofTolls, time, bounds);
  sourced.bounds = std::move(bounds);
  return sourced;
}

SourcedDemands etc::solveInTurn(Demands demands, const Fleet &fleet,
                                const Timing *timing) {
  SourceChoice choice = chooseHolders(demands, fleet);
  SourcedDemands sourced = {std::move(demands), std::move(choice)};
  if (timing && sourced.demands.size() > 0) {
    const Router router(sourced.demands, fleet, *timing);
    sourced.bounds = router.findBounds();
    if (const auto ofTolls = router.poseTolls())
      addTolls(*ofTolls, router.timeOf(sourced), sourced.bounds);
  }
  return sourced;
}
