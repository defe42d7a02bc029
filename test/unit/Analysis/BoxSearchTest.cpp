//===- BoxSearchTest.cpp - Boxes that another one meets
//-----------------------===//

#include "etc/BoxSearch.h"
#include "dialect/Piece.h"

#include "llvm/ADT/ArrayRef.h"

#include <gtest/gtest.h>
#include <random>

using namespace etc;

namespace {

constexpr int64_t extent = 24;

llvm::SmallVector<Piece, 0> sorted(llvm::SmallVector<Piece, 0> pieces) {
  std::sort(pieces.begin(), pieces.end());
  return pieces;
}

Span drawSpan(std::mt19937 &random) {
  const int64_t a = random() % extent, b = random() % extent;
  return {std::min(a, b), std::max(a, b) + 1};
}

/// All that meet `piece` are between the places that are found.
void expectFound(const llvm::SmallVector<Piece, 0> &pieces,
                 const Piece &piece) {
  const auto [first, last] = BoxSearch(pieces).find(piece);
  ASSERT_LE(first, last);
  ASSERT_LE(last, pieces.size());
  for (size_t place = 0; place != pieces.size(); ++place)
    EXPECT_FALSE(intersects(pieces[place], piece) &&
                 (place < first || place >= last))
        << "place " << place << " of [" << first << ", " << last << ")";
}

TEST(BoxSearch, FindsAllThatAnyPieceMeets) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int round = 0; round != 2000; ++round) {
    llvm::SmallVector<Piece, 0> pieces(random() % 20);
    for (Piece &piece : pieces)
      piece = {0, 0, 0, drawSpan(random), drawSpan(random), drawSpan(random)};
    expectFound(sorted(pieces), {0, 0, 0, drawSpan(random), drawSpan(random),
                                 drawSpan(random)});
  }
}

TEST(BoxSearch, LooksAtTheNeighborsOfAShardAlone) {
  const Span whole = {0, 1};
  llvm::SmallVector<Piece, 0> alongCut, inGrid;
  for (int64_t i = 0; i != 100; ++i) {
    alongCut.push_back({0, 0, 0, whole, {3 * i, 3 * i + 3}, {0, 8}});
    for (int64_t j = 0; j != 2; ++j)
      inGrid.push_back(
          {0, 0, 0, whole, {3 * i, 3 * i + 3}, {4 * j, 4 * j + 4}});
  }
  const Piece piece{0, 0, 0, whole, {7, 13}, {0, 8}};
  EXPECT_EQ(BoxSearch(alongCut).find(piece), std::pair(2ul, 5ul));
  EXPECT_EQ(BoxSearch(sorted(inGrid)).find(piece), std::pair(4ul, 10ul));
}

} // namespace
