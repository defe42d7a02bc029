//===- ProgramFlowsTest.cpp - Transfers in chunks -------------------------===//

#include "etc/Analysis/ProgramFlows.h"

#include <gtest/gtest.h>

using namespace etc;

/// The positions of every chunk along the axis that is cut.
static std::vector<std::pair<int64_t, int64_t>> chunksOf(const Piece &piece,
                                                         int64_t chunks) {
  std::vector<std::pair<int64_t, int64_t>> spans;
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    Span span = partOf(piece, chunk, chunks).cut;
    spans.push_back({span.begin, span.end});
  }
  return spans;
}

TEST(PartOf, CutsIntoEqualChunks) {
  const Piece piece{0, 0, 0, {0, 1}, {10, 18}, {0, 1}};
  const std::vector<std::pair<int64_t, int64_t>> expected = {
      {10, 12}, {12, 14}, {14, 16}, {16, 18}};
  EXPECT_EQ(chunksOf(piece, 4), expected);
}

// A tensor is allocated with its first chunk: that one writes something even
// where there are more chunks than positions.
TEST(PartOf, FirstChunkIsNeverEmpty) {
  const Piece piece{0, 0, 0, {0, 1}, {0, 2}, {0, 1}};
  const std::vector<std::pair<int64_t, int64_t>> expected = {
      {0, 1}, {1, 1}, {1, 2}, {2, 2}};
  EXPECT_EQ(chunksOf(piece, 4), expected);
}
