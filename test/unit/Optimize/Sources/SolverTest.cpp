//===- SolverTest.cpp - Who sends what devices lack -----------------------===//

#include "etc/Optimize/Sources/Solver.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>
#include <map>
#include <random>
#include <set>

using namespace etc;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {
/// What each element of the tensor 0 is for one destination.
struct Receipt {
  int64_t device; ///< the source
  unsigned hop;
  bool fromTransit, toTransit;
};
/// By destination and element.
using Receipts = std::map<std::pair<int64_t, int64_t>, Receipt>;

constexpr int64_t width = 8; ///< of the axis that is cut

/// A cluster, what its devices held, and what some of them lack.
struct Case {
  std::vector<Fleet::Device> devices;
  std::vector<Fragment> fragments;
  std::vector<SmallVector<int64_t>> destinations;
};

Case drawCase(std::mt19937 &random) {
  auto draw = [&](int64_t most) {
    return std::uniform_int_distribution<int64_t>(1, most)(random);
  };
  Case drawn;
  const int64_t nodes = draw(4), roles = draw(3);
  for (int64_t node = 0; node < nodes; ++node)
    for (int64_t left = draw(4); left > 0; --left) {
      const int64_t role = draw(roles + 2) - 2; // -1: it held nothing
      drawn.devices.push_back(
          {node, std::max<int64_t>(role, -1), std::max<int64_t>(role, -1)});
    }
  const Fleet fleet(drawn.devices, /*hasRanges=*/false);
  for (int64_t number = 0, count = draw(4); number < count; ++number) {
    Fragment fragment;
    fragment.pieces = {{0, number, 0, {0, draw(3)}, {0, width}, {0, draw(3)}}};
    fragment.types.resize(1, true);
    fragment.unit = 4;
    fragment.bytes = 4 * fragment.pieces.front().size();
    fragment.holders = {{true, draw(roles) - 1}};
    SmallVector<int64_t> lacking;
    for (int64_t device = 0; device < fleet.size(); ++device)
      if (!fleet.holds(fragment, device) && draw(3) > 1)
        lacking.push_back(device);
    if (lacking.empty() || fleet.findHolders(fragment).empty())
      continue;
    drawn.fragments.push_back(fragment);
    drawn.destinations.push_back(lacking);
  }
  return drawn;
}

int64_t elementOf(const Piece &piece, int64_t outer, int64_t cut,
                  int64_t inner) {
  return ((piece.layer * 4 + outer) * width + cut) * 4 + inner;
}

template <typename Visit> void forElements(const Piece &piece, Visit visit) {
  for (int64_t o = piece.outer.begin; o < piece.outer.end; ++o)
    for (int64_t c = piece.cut.begin; c < piece.cut.end; ++c)
      for (int64_t i = piece.inner.begin; i < piece.inner.end; ++i)
        visit(elementOf(piece, o, c, i));
}

/// Who receives what from whom; nothing twice.
Receipts receiptsOf(const SourcedDemands &sourced) {
  Receipts receipts;
  EXPECT_EQ(sourced.choice.sources.size(), sourced.demands.size());
  for (size_t number = 0; number < sourced.demands.size(); ++number) {
    const Demand &demand = sourced.demands[number];
    EXPECT_EQ(sourced.choice.sources[number].size(),
              demand.destinations.size());
    for (auto [to, source] :
         llvm::zip(demand.destinations, sourced.choice.sources[number]))
      for (const Piece &piece : demand.fragment->pieces)
        forElements(piece, [&, to = to, source = source](int64_t element) {
          EXPECT_TRUE(
              receipts
                  .try_emplace({to, element},
                               Receipt{source.device, source.hop,
                                       source.fromTransit, source.toTransit})
                  .second)
              << "device " << to << " receives element " << element << " twice";
        });
  }
  return receipts;
}

/// What does not stay is sent on.
void expectPassedOn(const Receipts &receipts) {
  std::set<std::pair<int64_t, int64_t>> sent;
  for (const auto &[at, receipt] : receipts)
    if (receipt.fromTransit)
      sent.insert({receipt.device, at.second});
  for (const auto &[at, receipt] : receipts)
    if (receipt.toTransit) {
      EXPECT_TRUE(sent.contains(at)) << "device " << at.first;
    }
}

/// All that is lacked arrives, from a holder or from one that received it with
/// one hop less.
void expectServed(const Case &given, const Receipts &receipts) {
  const Fleet fleet(given.devices, false);
  size_t elements = 0, kept = 0;
  auto expectSource = [&](const Fragment &fragment, int64_t element,
                          const Receipt &receipt) {
    if (receipt.hop == 0) {
      EXPECT_TRUE(fleet.holds(fragment, receipt.device));
      return;
    }
    auto before = receipts.find({receipt.device, element});
    ASSERT_NE(before, receipts.end());
    EXPECT_EQ(before->second.hop + 1, receipt.hop);
    EXPECT_EQ(before->second.toTransit, receipt.fromTransit);
  };
  for (auto [fragment, destinations] :
       llvm::zip_equal(given.fragments, given.destinations))
    for (int64_t to : destinations)
      for (const Piece &piece : fragment.pieces)
        forElements(piece, [&, &fragment = fragment](int64_t element) {
          ++elements;
          auto found = receipts.find({to, element});
          ASSERT_NE(found, receipts.end());
          EXPECT_FALSE(found->second.toTransit);
          expectSource(fragment, element, found->second);
        });
  for (const auto &[at, receipt] : receipts) {
    kept += !receipt.toTransit;
    if (receipt.toTransit)
      for (const Fragment &fragment : given.fragments)
        for (const Piece &piece : fragment.pieces)
          forElements(piece, [&, &at = at, &receipt = receipt](int64_t other) {
            if (other == at.second)
              expectSource(fragment, other, receipt);
          });
  }
  EXPECT_EQ(kept, elements);
  expectPassedOn(receipts);
}

/// Rates, and NICs that devices may share.
Timing drawTiming(std::mt19937 &random, const Fleet &fleet) {
  auto draw = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  Timing timing = {{draw(1, 1000), draw(1, 1000), draw(1, 4)},
                   llvm::BitVector(static_cast<unsigned>(fleet.size()), true),
                   /*choosesRoutes=*/true,
                   /*transitPpm=*/1'000'000};
  return timing;
}

Demands demandsOf(const Case &given) {
  Demands demands;
  for (auto [fragment, destinations] :
       llvm::zip_equal(given.fragments, given.destinations))
    demands.add(fragment, destinations);
  return demands;
}
} // namespace

TEST(Solver, ServesAllThatIsLacked) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const Case given = drawCase(random);
    const Fleet fleet(given.devices, false);
    if (given.fragments.empty())
      continue;
    expectServed(given, receiptsOf(solveSources(demandsOf(given), fleet)));
    const Timing timing = drawTiming(random, fleet);
    expectServed(given,
                 receiptsOf(solveSources(demandsOf(given), fleet, &timing)));
    const SourcedDemands inTurn = solveInTurn(demandsOf(given), fleet);
    expectServed(given, receiptsOf(inTurn));
    EXPECT_FALSE(inTurn.choice.hasRelays);
    if (HasFailure())
      return;
  }
}

TEST(Solver, PassesOnAlongAChain) {
  // One holder, seven that lack it, on nodes of their own.
  std::vector<Fleet::Device> devices = {{0, 0, 0}};
  for (int64_t node = 1; node < 8; ++node)
    devices.push_back({node, -1, -1});
  const Fleet fleet(devices, false);
  Fragment fragment;
  fragment.pieces = {{0, 0, 0, {0, 1}, {0, width}, {0, 1}}};
  fragment.types.resize(1, true);
  fragment.unit = 4;
  fragment.bytes = 4 * width;
  fragment.holders = {{true, 0}};
  Demands demands;
  demands.add(fragment, {1, 2, 3, 4, 5, 6, 7});
  const SourcedDemands sourced = solveSources(std::move(demands), fleet);
  EXPECT_TRUE(sourced.choice.hasRelays);
  EXPECT_EQ(sourced.choice.cost.getBusiest(), fragment.bytes);
}

TEST(Solver, LeavesOutWhatIsTooLargeToPassOn) {
  // Device 0 has what device 2 lacks, on another node; 1 may pass it on.
  const Fleet fleet({{0, 0, 0}, {0, 1, 1}, {1, 2, 2}, {1, -1, -1}}, false);
  auto makeFragment = [](int64_t pool, int64_t layer, int64_t bytes) {
    Fragment fragment;
    fragment.pieces = {
        {0, layer, 0, {0, bytes / width / 4}, {0, width}, {0, 1}}};
    fragment.types.resize(1, true);
    fragment.unit = 4;
    fragment.bytes = bytes;
    fragment.holders = {{true, pool}};
    return fragment;
  };
  constexpr int64_t megabyte = 1 << 20, large = 100;
  std::vector<Fragment> fragments = {makeFragment(1, large + 1, megabyte),
                                     makeFragment(0, large, 100 * megabyte)};
  for (int64_t layer = 0; layer < 20; ++layer)
    fragments.push_back(makeFragment(0, layer, 5 * megabyte));
  Demands demands;
  for (const Fragment &fragment : fragments)
    demands.add(fragment, {2});
  const Timing timing = {{900 * megabyte, 100 * megabyte, 2},
                         llvm::BitVector(4, true),
                         /*choosesRoutes=*/true,
                         /*transitPpm=*/50'000};
  const SourcedDemands sourced =
      solveSources(std::move(demands), fleet, &timing);
  EXPECT_TRUE(sourced.isRouted);
  int64_t passed = 0;
  for (size_t number = 0; number < sourced.demands.size(); ++number)
    for (const Source &source : sourced.choice.sources[number])
      if (source.toTransit)
        for (const Piece &piece : sourced.demands[number].fragment->pieces) {
          EXPECT_NE(piece.layer, large);
          passed += piece.size() * 4;
        }
  EXPECT_GT(passed, 50 * megabyte);
}

TEST(Fleet, FindsLivingHolders) {
  // Two nodes; device 2 is dead, device 3 new.
  const Fleet fleet({{0, 0, 0}, {0, 1, 0}, {1, -1, -1}, {1, -1, -1}, {1, 2, 1}},
                    /*hasRanges=*/true);
  EXPECT_EQ(fleet.getNodeCount(), 2);
  EXPECT_EQ(fleet.findHolders({{true, 0}}), (SmallVector<int64_t>{0, 1}));
  EXPECT_EQ(fleet.findHolders({{false, 1}, {false, 2}}),
            (SmallVector<int64_t>{1, 4}));
  // Of a role that nobody alive had.
  EXPECT_TRUE(fleet.findHolders({{false, 9}, {true, 5}}).empty());
  EXPECT_EQ(fleet.getHoldersOn(1), ArrayRef<int64_t>({4}));
}
