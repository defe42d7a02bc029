//===- SearchPlacement.cpp - Roles change places for nodes and NICs -------===//

#include "JointPlacement.h"

#include "etc/Optimize/Placement/Solver.h"

using namespace etc;
using llvm::SmallVector;

/// Whether some node has room for two groups, or for two ranks where these may
/// be anywhere. On others no two lack the same bytes.
static bool canShareNodes(const placement::Problem &problem) {
  const int64_t size =
      problem.policy == placement::Policy::Any ? 1 : problem.groupSize;
  std::vector<int64_t> usable(problem.nodeClass.size());
  for (const placement::Device &device : problem.devices)
    usable[device.node] += device.status == placement::Status::Usable;
  return usable.size() > 1 &&
         llvm::any_of(usable, [&](int64_t count) { return count >= 2 * size; });
}

namespace {
/// A problem with what its searches need.
struct Searches {
  const placement::Problem &problem;
  const placement::Entering &entering;
  const std::optional<placement::Rates> &rates;

  std::optional<placement::Solution>
  reachNics(const placement::Solution &solution) const {
    return rates && mayReachMoreNics(problem, *rates, solution)
               ? reachMoreNics(problem, entering, *rates, solution)
               : std::nullopt;
  }
  PlacedRoles::Without measure(const placement::Solution &solution) const {
    return {rates ? countSlowest(problem, entering, *rates, solution.deviceOf)
                  : 0,
            countEntering(problem, entering, solution.deviceOf)};
  }
};
} // namespace

std::optional<PlacedRoles>
etc::solvePlacement(const placement::Problem &problem, EnteringFn listEntering,
                    const std::optional<placement::Rates> &rates,
                    PlacementSearch search) {
  std::optional<placement::Solution> solution = placement::solve(problem);
  if (!solution)
    return std::nullopt;
  PlacedRoles placed{*solution};
  const bool mayShare = search.shareNodes && canShareNodes(problem);
  if (!mayShare && !(search.reachNics && rates &&
                     mayReachMoreNics(problem, *rates, *solution)))
    return placed;
  const std::optional<placement::Entering> &entering = listEntering();
  if (!entering)
    return placed;
  const Searches searches{problem, *entering, rates};
  if (mayShare)
    placed.solution = reduceEntering(problem, *entering, *solution);
  if (placed.solution.deviceOf != solution->deviceOf)
    placed.withoutSharing =
        searches.measure(searches.reachNics(*solution).value_or(*solution));
  if (!search.reachNics)
    return placed;
  if (auto other = searches.reachNics(placed.solution)) {
    placed.withoutNics = searches.measure(placed.solution);
    placed.solution = std::move(*other);
  }
  return placed;
}

/// Groups of one rank may be anywhere, and what is anywhere is exact.
SmallVector<std::pair<Place, PlacedRoles::Without>, 2>
etc::listNarrower(placement::Problem problem, EnteringFn listEntering,
                  const std::optional<placement::Rates> &rates,
                  PlacementSearch search, const placement::Solution &solution) {
  SmallVector<std::pair<Place, PlacedRoles::Without>, 2> narrower;
  SmallVector<std::vector<int64_t>, 3> known = {solution.deviceOf};
  for (Place place : {Place::Tp, Place::Pack}) {
    if (problem.policy >= policyOf(place) ||
        (place == Place::Tp && problem.groupSize == 1))
      continue;
    problem.policy = policyOf(place);
    const std::optional<PlacedRoles> placed =
        solvePlacement(problem, listEntering, rates, search);
    if (!placed || llvm::is_contained(known, placed->solution.deviceOf))
      continue;
    known.push_back(placed->solution.deviceOf);
    const std::optional<placement::Entering> &entering = listEntering();
    if (!entering)
      break;
    narrower.push_back(
        {place, Searches{problem, *entering, rates}.measure(placed->solution)});
  }
  return narrower;
}
