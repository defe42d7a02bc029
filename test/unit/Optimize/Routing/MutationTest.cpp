// Wrong cuts and wrong routes are refused: valid ones of random instances, with
// one mistake each. Loads and times of routes are counted again after the
// mistake, so that it is the mistake that is found.

#include "../Environment.h"
#include "Cases.h"
#include "etc/Optimize/Routing/Solver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace etc::routing {
namespace {

constexpr int kMutations = 1000; ///< of cuts, and as many of routes

class Mutator {
public:
  explicit Mutator(uint64_t seed) : engine(seed) {}

  int64_t below(int64_t limit) { return int64_t(engine() % uint64_t(limit)); }

  /// One thing about the cut is another one.
  Cut mutate(const Problem &problem, Cut cut);
  /// The same of a route; nothing where the mistake can't be made.
  std::optional<Solution> mutate(const Problem &problem, Solution solution);

private:
  bool changeSender(const Problem &problem, const Solution &solution, Hop &hop);

  std::mt19937_64 engine;
};

Cut Mutator::mutate(const Problem &problem, Cut cut) {
  switch (below(7)) {
  case 0:
    cut.time.bytes += 1 + below(1000);
    break;
  case 1:
    cut.time.rate -= 1 + below(std::min<int64_t>(1000, cut.time.rate - 1));
    break;
  case 2:
    cut.direction =
        cut.direction == Direction::In ? Direction::Out : Direction::In;
    break;
  case 3:
    cut.devices.erase(cut.devices.begin() + below(int64_t(cut.devices.size())));
    break;
  case 4:
    cut.inner.push_back(
        cut.devices[size_t(below(int64_t(cut.devices.size())))]);
    std::sort(cut.inner.begin(), cut.inner.end());
    break;
  case 5:
    if (!cut.inner.empty()) {
      cut.inner.erase(cut.inner.begin() + below(int64_t(cut.inner.size())));
      break;
    }
    [[fallthrough]];
  default:
    cut.devices.push_back(int32_t(below(int64_t(problem.devices.size()))));
    std::sort(cut.devices.begin(), cut.devices.end());
  }
  return cut;
}

/// From a device that has none of the atom at any time.
bool Mutator::changeSender(const Problem &problem, const Solution &solution,
                           Hop &hop) {
  std::vector<int32_t> others;
  const auto &holders = problem.holdersOf(problem.atoms[size_t(hop.atom)]);
  for (int32_t device = 0; device < int32_t(problem.devices.size()); ++device)
    if (device != hop.to && problem.takesPart(device) &&
        !std::binary_search(holders.begin(), holders.end(), device) &&
        std::none_of(solution.hops.begin(), solution.hops.end(),
                     [&](const Hop &other) {
                       return other.atom == hop.atom && other.to == device;
                     }))
      others.push_back(device);
  if (others.empty())
    return false;
  hop.from = others[size_t(below(int64_t(others.size())))];
  return true;
}

void countAgain(const Problem &problem, Solution &solution) {
  const size_t devices = problem.devices.size(), nics = problem.nics.size();
  Loads &loads = solution.loads;
  loads = {std::vector<int64_t>(devices), std::vector<int64_t>(devices),
           std::vector<int64_t>(nics), std::vector<int64_t>(nics)};
  for (const Hop &hop : solution.hops) {
    const int64_t bytes = hop.end - hop.begin;
    const Device &from = problem.devices[size_t(hop.from)],
                 &to = problem.devices[size_t(hop.to)];
    const bool isNear = problem.nodeOf(hop.from) == problem.nodeOf(hop.to);
    (isNear ? loads.linkOut[size_t(hop.from)]
            : loads.nicOut[size_t(from.nic)]) += bytes;
    (isNear ? loads.linkIn[size_t(hop.to)] : loads.nicIn[size_t(to.nic)]) +=
        bytes;
  }
  solution.time = {};
  for (size_t i = 0; i < devices; ++i)
    for (int64_t bytes : {loads.linkOut[i], loads.linkIn[i]})
      solution.time =
          std::max(solution.time, Time{bytes, problem.devices[i].linkRate});
  for (size_t i = 0; i < nics; ++i)
    for (int64_t bytes : {loads.nicOut[i], loads.nicIn[i]})
      solution.time =
          std::max(solution.time, Time{bytes, problem.nics[i].rate});
}

std::optional<Solution> Mutator::mutate(const Problem &problem,
                                        Solution solution) {
  const auto number = below(int64_t(solution.hops.size()));
  Hop &hop = solution.hops[size_t(number)];
  const Atom &atom = problem.atoms[size_t(hop.atom)];
  switch (below(7)) {
  case 0:
    solution.hops.erase(solution.hops.begin() + number);
    break;
  case 1:
    solution.hops.push_back(Hop(hop));
    break;
  case 2:
    if (!changeSender(problem, solution, hop))
      return std::nullopt;
    break;
  case 3:
    if (hop.end - hop.begin < 2)
      return std::nullopt;
    hop.end -= 1 + below(hop.end - hop.begin - 1);
    break;
  case 4: {
    const auto &holders = problem.holdersOf(atom);
    if (std::binary_search(holders.begin(), holders.end(), hop.from))
      return std::nullopt;
    hop.stage = 0;
    break;
  }
  case 5:
    hop.to = problem.holdersOf(atom).front();
    break;
  default:
    countAgain(problem, solution);
    solution.time.rate += 1 + below(1000);
    return solution;
  }
  countAgain(problem, solution);
  return solution;
}

/// Of either kind.
Problem drawProblem(uint64_t seed) {
  return seed % 4 < 2 ? testing::randomProblem(seed)
                      : testing::unevenProblem(seed);
}

TEST(MutationTest, WrongCutsAreRefused) {
  const uint64_t first = etc::testing::fromEnvironment("ETC_PROPERTY_SEED", 1);
  int refused = 0;
  for (uint64_t seed = first; refused < kMutations; ++seed) {
    Problem problem = drawProblem(seed);
    problem.transit = true;
    const Cut cut = findBound(problem);
    if (cut.devices.empty())
      continue;
    const Solution solution = solveStriped(problem);
    Mutator mutator(seed);
    for (int i = 0; i < 5; ++i) {
      const Cut wrong = mutator.mutate(problem, cut);
      SCOPED_TRACE("seed " + std::to_string(seed) + ", mutation " +
                   std::to_string(i) + "\n" + testing::writeCase(problem));
      if (verifyBound(problem, wrong))
        ++refused;
      else // another cut, and as true
        ASSERT_LE(wrong.time, solution.time);
    }
  }
}

/// One thing about tolls is another one: a link or NIC more or less, or bytes
/// or a rate that they do not have.
Cut mutateTolls(Mutator &mutator, const Problem &problem, Cut cut) {
  std::vector<int32_t> *const lists[] = {&cut.tolls.linksOut,
                                         &cut.tolls.linksIn, &cut.tolls.nicsOut,
                                         &cut.tolls.nicsIn};
  std::vector<int32_t> &list = *lists[mutator.below(4)];
  switch (mutator.below(5)) {
  case 0:
    cut.time.bytes += 1 + mutator.below(1000);
    break;
  case 1:
    cut.time.rate -=
        1 + mutator.below(std::min<int64_t>(1000, cut.time.rate - 1));
    break;
  case 2:
    if (!list.empty()) {
      list.erase(list.begin() + mutator.below(int64_t(list.size())));
      break;
    }
    [[fallthrough]];
  case 3:
    cut.devices = {0};
    break;
  default:
    list.push_back(int32_t(mutator.below(int64_t(problem.devices.size()))));
    std::sort(list.begin(), list.end());
  }
  return cut;
}

TEST(MutationTest, WrongTollsAreRefused) {
  const uint64_t first = etc::testing::fromEnvironment("ETC_PROPERTY_SEED", 1);
  int refused = 0;
  for (uint64_t seed = first; refused < kMutations; ++seed) {
    const Problem problem = drawProblem(seed);
    if (problem.atoms.empty())
      continue;
    Cut cut;
    cut.tolls = testing::randomTolls(problem, seed);
    cut.time = timeOf(problem, cut.tolls);
    if (cut.time.bytes == 0)
      continue;
    Mutator mutator(seed);
    for (int i = 0; i < 5; ++i) {
      const Cut wrong = mutateTolls(mutator, problem, cut);
      SCOPED_TRACE("seed " + std::to_string(seed) + ", mutation " +
                   std::to_string(i) + "\n" + testing::writeCase(problem));
      ASSERT_NE(verifyBound(problem, wrong), std::nullopt);
      ++refused;
    }
  }
}

TEST(MutationTest, WrongRoutesAreRefused) {
  const uint64_t first = etc::testing::fromEnvironment("ETC_PROPERTY_SEED", 1);
  int refused = 0;
  for (uint64_t seed = first; refused < kMutations; ++seed) {
    Problem problem = drawProblem(seed);
    problem.transit = seed % 2 == 0;
    const Solution solution = solveStriped(problem);
    if (solution.hops.empty())
      continue;
    Mutator mutator(seed);
    for (int i = 0; i < 7; ++i) {
      const std::optional<Solution> wrong = mutator.mutate(problem, solution);
      if (!wrong)
        continue;
      SCOPED_TRACE("seed " + std::to_string(seed) + ", mutation " +
                   std::to_string(i) + "\n" + testing::writeCase(problem));
      ASSERT_NE(verify(problem, *wrong), std::nullopt);
      ++refused;
    }
  }
}

} // namespace
} // namespace etc::routing
