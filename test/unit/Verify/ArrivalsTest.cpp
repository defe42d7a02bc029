//===- ArrivalsTest.cpp - What was written, as all accesses have it -------===//

#include "../../../lib/Verify/Arrivals.h"

#include <gtest/gtest.h>
#include <random>

using namespace etc;

namespace {

constexpr int64_t extent = 40;

Span drawSpan(std::mt19937 &random, int64_t longest) {
  const int64_t begin = random() % extent;
  return {begin, std::min(extent, begin + 1 + int64_t(random() % longest))};
}

/// Narrow ones along one axis, so that often none of many meet.
std::vector<Piece> drawPieces(std::mt19937 &random) {
  std::vector<Piece> pieces(random() % 40);
  const unsigned axis = random() % Piece::rank();
  for (Piece &piece : pieces) {
    piece = {0, 0, 0, {0, extent}, {0, extent}, {0, extent}};
    piece[axis] = drawSpan(random, 2);
    piece[(axis + 1) % Piece::rank()] = drawSpan(random, 3);
  }
  return pieces;
}

bool doesAnyMeetAnother(const std::vector<Piece> &pieces) {
  for (size_t i = 0; i != pieces.size(); ++i)
    for (size_t j = i + 1; j != pieces.size(); ++j)
      if (intersects(pieces[i], pieces[j]))
        return true;
  return false;
}

TEST(Arrivals, AreWhatAllAccessesWrite) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int turn = 0; turn != 1000; ++turn) {
    const std::vector<Piece> pieces = drawPieces(random);
    std::vector<Access> writes;
    for (const Piece &piece : pieces)
      writes.push_back({piece, int64_t(random() % 5), nullptr});
    const Arrivals arrivals(writes);
    const Piece piece = {0,
                         0,
                         0,
                         drawSpan(random, extent),
                         drawSpan(random, extent),
                         drawSpan(random, extent)};
    const int64_t round = random() % 6;
    int64_t elements = 0;
    for (const Access &write : writes)
      if (const auto shared = intersect(write.piece, piece);
          shared && write.round < round)
        elements += shared->size();
    EXPECT_EQ(arrivals.count(piece, round), elements);
    EXPECT_EQ(arrivals.findRepeated() != nullptr, doesAnyMeetAnother(pieces));
  }
}

} // namespace
