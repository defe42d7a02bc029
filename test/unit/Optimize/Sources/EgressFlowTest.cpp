//===- EgressFlowTest.cpp - The least egress as a flow --------------------===//

#include "EgressFlow.h"
#include "etc/Optimize/Sources/Demands.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace etc;
using llvm::ArrayRef;
using llvm::SmallVector;

static std::vector<int64_t> sentOf(ArrayRef<Lot> lots, int64_t devices) {
  std::vector<int64_t> sent(devices);
  for (const Lot &lot : lots)
    for (auto [sender, share] : llvm::zip_equal(lot.senders, lot.shares))
      sent[sender] += share;
  return sent;
}

static std::vector<int64_t> bytesOf(ArrayRef<Lot> lots) {
  std::vector<int64_t> bytes;
  for (const Lot &lot : lots)
    bytes.push_back(
        std::accumulate(lot.shares.begin(), lot.shares.end(), int64_t(0)));
  return bytes;
}

/// The largest mean of what any set of devices has to send by itself: by the
/// theorem of maximum flow and minimum cut the least egress.
static int64_t bruteForce(ArrayRef<Lot> lots, int64_t devices) {
  int64_t least = 0;
  for (unsigned set = 1; set < 1u << devices; ++set) {
    int64_t forced = 0;
    for (auto [lot, bytes] : llvm::zip_equal(lots, bytesOf(lots)))
      if (llvm::all_of(lot.senders,
                       [&](int64_t device) { return set >> device & 1; }))
        forced += bytes;
    const int64_t count = llvm::popcount(set);
    least = std::max(least, (forced + count - 1) / count);
  }
  return least;
}

static std::vector<Lot> randomLots(std::mt19937 &random, int64_t devices) {
  std::vector<Lot> lots(1 + random() % 6);
  for (Lot &lot : lots) {
    for (int64_t device = 0; device < devices; ++device)
      if (random() % 2)
        lot.senders.push_back(device);
    if (lot.senders.empty())
      lot.senders.push_back(random() % devices);
    for (size_t place = 0; place < lot.senders.size(); ++place)
      lot.shares.push_back(random() % 3 * (random() % 1000));
  }
  return lots;
}

TEST(EgressFlow, IsTheLeast) {
  for (unsigned seed = 0; seed < 5000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const int64_t devices = 1 + random() % 6;
    std::vector<Lot> lots = randomLots(random, devices);
    const int64_t least = findLeastEgress(lots, devices, 0);
    ASSERT_EQ(least, bruteForce(lots, devices));
    ASSERT_EQ(findLeastEgress(lots, devices, least + 7), least + 7);
    const std::vector<int64_t> bytes = bytesOf(lots);
    spreadEgress(lots, devices, least);
    ASSERT_LE(*llvm::max_element(sentOf(lots, devices)), least);
    ASSERT_EQ(bytesOf(lots), bytes);
    for (const Lot &lot : lots)
      for (int64_t share : lot.shares)
        ASSERT_GE(share, 0);
  }
}

// Device 0 passes bytes of the first lot to 1, which passes bytes of the second
// to 2: nothing goes from 0 to 2 directly.
TEST(EgressFlow, GoesAroundOthers) {
  std::vector<Lot> lots = {{{0, 1}, {30, 0}, {}}, {{1, 2}, {30, 0}, {}}};
  EXPECT_EQ(findLeastEgress(lots, 3, 0), 20);
  spreadEgress(lots, 3, 20);
  EXPECT_EQ(sentOf(lots, 3), std::vector<int64_t>({20, 20, 20}));
}

// What is within the limit stays where it is.
TEST(EgressFlow, MovesNoMoreThanItHasTo) {
  std::vector<Lot> lots = {{{0, 1}, {30, 10}, {}}, {{1, 2}, {5, 0}, {}}};
  spreadEgress(lots, 3, 25);
  EXPECT_EQ(lots[0].shares, SmallVector<int64_t>({25, 15}));
  EXPECT_EQ(lots[1].shares, SmallVector<int64_t>({5, 0}));
}

TEST(EgressFlow, PoolsWhatTheSameDevicesMaySend) {
  std::vector<Shipment> shipments = {
      {10, {0, 1}, 0}, {20, {1}, 1}, {30, {0, 1}, 1}};
  std::vector<Lot> lots = poolShipments(shipments);
  ASSERT_EQ(lots.size(), 2u);
  EXPECT_EQ(lots[0].shares, SmallVector<int64_t>({10, 30}));
  EXPECT_EQ(lots[0].shipments, SmallVector<size_t>({0, 2}));
  EXPECT_EQ(lots[1].shares, SmallVector<int64_t>({20}));
}

//===----------------------------------------------------------------------===//
// Cuts
//===----------------------------------------------------------------------===//

/// 3 x 4 elements and 2, of 6 bytes.
static Fragment twoPieces() {
  return {
      {{0, 0, 0, {0, 1}, {0, 3}, {0, 4}}, {1, 0, 0, {0, 1}, {5, 7}, {0, 1}}},
      llvm::SmallBitVector(1, true),
      {},
      14 * 6,
      6};
}

TEST(CutFragment, CutsAtWholePositions) {
  // The longest axis of the first piece is the inner one: columns of 18 bytes.
  std::vector<Fragment> parts = cutFragment(twoPieces(), {20, 75});
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[0].bytes, 18);
  EXPECT_EQ(parts[1].bytes, 54);
  EXPECT_EQ(parts[2].bytes, 12);
  EXPECT_EQ(parts[0].pieces.front().inner, (Span{0, 1}));
  EXPECT_EQ(parts[1].pieces.front().inner, (Span{1, 4}));
}

TEST(CutFragment, LeavesPartsEmptyThatAreTooSmall) {
  std::vector<Fragment> parts = cutFragment(twoPieces(), {2, 4, 6});
  ASSERT_EQ(parts.size(), 4u);
  for (unsigned part : {0, 1, 2})
    EXPECT_TRUE(parts[part].pieces.empty());
  EXPECT_EQ(parts[3].bytes, 84);
}

TEST(CutFragment, LosesNothing) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    SmallVector<int64_t> cuts(random() % 5);
    for (int64_t &cut : cuts)
      cut = 1 + random() % 83;
    llvm::sort(cuts);
    std::vector<Fragment> parts = cutFragment(twoPieces(), cuts);
    ASSERT_EQ(parts.size(), cuts.size() + 1);
    SmallVector<Piece> pieces;
    for (const Fragment &part : parts) {
      int64_t elements = 0;
      for (const Piece &piece : part.pieces) {
        ASSERT_GT(piece.size(), 0);
        elements += piece.size();
        pieces.push_back(piece);
      }
      ASSERT_EQ(part.bytes, elements * 6);
    }
    int64_t elements = 0;
    for (auto [number, piece] : llvm::enumerate(pieces)) {
      elements += piece.size();
      for (const Piece &other : llvm::drop_begin(pieces, number + 1))
        ASSERT_FALSE(intersect(piece, other) && piece.isOfSame(other));
    }
    ASSERT_EQ(elements, 14);
  }
}
