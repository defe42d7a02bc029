// What is written of boxes, as looking through all writes has it.

#include "core/plan/RefereeRules.h"

#include <gtest/gtest.h>
#include <random>

using namespace etc;
using namespace etc::plan;

namespace {

constexpr int64_t kExtent = 24;

/// A box that is cut in two, again and again, across either axis.
std::vector<Box> drawParts(std::mt19937 &random, size_t count) {
  std::vector<Box> parts{Box{{0, kExtent}, {0, kExtent}}};
  for (size_t tries = 0; parts.size() < count && tries != 20 * count; ++tries) {
    Box &part = parts[random() % parts.size()];
    const unsigned axis = random() % 2;
    if (part[axis].size() < 2)
      continue;
    const int64_t middle =
        part[axis].begin + 1 + int64_t(random() % (part[axis].size() - 1));
    Box rest = part;
    part[axis].end = rest[axis].begin = middle;
    parts.push_back(rest);
  }
  return parts;
}

Span drawSpan(std::mt19937 &random) {
  const int64_t a = random() % kExtent, b = random() % kExtent;
  return {std::min(a, b), std::max(a, b) + 1};
}

TEST(WrittenBoxes, AreWhatAllWritesShare) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int turn = 0; turn != 500; ++turn) {
    const std::vector<Box> parts = drawParts(random, random() % 60);
    std::vector<Write> writes;
    for (const Box &part : parts)
      writes.push_back({uint32_t(random() % 5), 0, part});
    const WrittenBoxes written(writes);
    const Box box{drawSpan(random), drawSpan(random)};
    const uint32_t round = random() % 6;
    uint64_t before = 0, now = 0;
    for (const Write &write : writes) {
      before += write.round < round ? sharedVolume(write.box, box) : 0;
      now += write.round == round ? sharedVolume(write.box, box) : 0;
    }
    const auto found = written.count(box, round);
    EXPECT_EQ(found.before, before);
    EXPECT_EQ(found.now, now);
  }
}

} // namespace
