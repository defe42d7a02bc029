// Copies of boxes, against an element-by-element copy.

#include "core/pack/Copy.h"
#include "core/pack/Runs.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>

using namespace etc;
using namespace etc::runtime;
using etc::plan::fb::DType;

namespace {

using Bytes = std::vector<std::byte>;

/// The row-major index within `box` of every element of `part`, in order.
std::vector<uint64_t> indicesOf(BoxView box, BoxView part) {
  std::vector<uint64_t> indices{0};
  for (unsigned axis = 0; axis != box.rank(); ++axis) {
    std::vector<uint64_t> next;
    for (uint64_t index : indices)
      for (int64_t at = part[axis].begin; at != part[axis].end; ++at)
        next.push_back(index * box[axis].size() + at - box[axis].begin);
    indices = std::move(next);
  }
  return indices;
}

class RandomBoxes {
public:
  explicit RandomBoxes(unsigned seed) : generator(seed) {}

  int64_t number(int64_t first, int64_t last) {
    return std::uniform_int_distribution<int64_t>(first, last)(generator);
  }

  Box part(unsigned rank) {
    Box box(rank);
    for (unsigned axis = 0; axis != rank; ++axis) {
      int64_t begin = number(0, 4);
      box[axis] = {begin, begin + number(1, 4)};
    }
    return box;
  }

  /// A box that contains `part`, and is as wide as it on about half of the
  /// axes.
  Box around(const Box &part) {
    Box box = part;
    for (unsigned axis = 0; axis != box.rank(); ++axis) {
      auto &[begin, end] = box[axis];
      begin -= std::min(number(0, 1) * number(0, 3), begin);
      end += number(0, 1) * number(0, 3);
    }
    return box;
  }

  Bytes bytes(uint64_t count) {
    Bytes out(count);
    for (std::byte &byte : out)
      byte = std::byte(number(0, 255));
    return out;
  }

private:
  std::mt19937 generator;
};

TEST(Pack, CopiesRandomBoxes) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  RandomBoxes random(seed);
  for (int i = 0; i != 2000; ++i) {
    const unsigned rank = random.number(1, 4);
    const unsigned size = 1u << random.number(0, 3);
    Box part = random.part(rank);
    Box from = random.around(part), to = random.around(part);
    Bytes source = random.bytes(volume(from) * size);
    Bytes target = random.bytes(volume(to) * size);
    Bytes expected = target;
    auto reads = indicesOf(from, part);
    auto writes = indicesOf(to, part);
    for (size_t k = 0; k != reads.size(); ++k)
      std::memcpy(&expected[writes[k] * size], &source[reads[k] * size], size);

    copyBox({source.data(), from}, {target.data(), to}, part, size);
    ASSERT_EQ(target, expected);

    // Packed and unpacked again, the elements are where they were.
    Bytes message(volume(part) * size), restored = source;
    copyBox({source.data(), from}, {message.data(), part}, part, size);
    zeroBox({restored.data(), from}, part, size);
    copyBox({message.data(), part}, {restored.data(), from}, part, size);
    ASSERT_EQ(restored, source);
  }
}

TEST(Pack, ZeroesOnlyTheBox) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  RandomBoxes random(seed);
  for (int i = 0; i != 200; ++i) {
    Box part = random.part(3), whole = random.around(part);
    Bytes data = random.bytes(volume(whole));
    Bytes expected = data;
    for (uint64_t index : indicesOf(whole, part))
      expected[index] = std::byte(0);
    zeroBox({data.data(), whole}, part, 1);
    ASSERT_EQ(data, expected);
  }
}

TEST(Pack, ContiguousAxesAreOneRun) {
  auto countRuns = [](const Box &from, const Box &to, const Box &part) {
    unsigned runs = 0;
    forEachRun(from, to, part, [&](uint64_t, uint64_t, uint64_t) { ++runs; });
    return runs;
  };
  Box whole{{0, 4}, {0, 6}, {0, 8}};
  EXPECT_EQ(countRuns(whole, whole, whole), 1u);
  // Rows of axis 0 stay contiguous; a cut of axis 1 leaves a run a row, one of
  // axis 2 a run a line.
  EXPECT_EQ(
      countRuns(whole, {{1, 3}, {0, 6}, {0, 8}}, {{1, 3}, {0, 6}, {0, 8}}), 1u);
  EXPECT_EQ(
      countRuns(whole, {{0, 4}, {2, 4}, {0, 8}}, {{0, 4}, {2, 4}, {0, 8}}), 4u);
  EXPECT_EQ(
      countRuns(whole, {{0, 4}, {0, 6}, {1, 3}}, {{0, 4}, {0, 6}, {1, 3}}),
      24u);
}

TEST(Cast, Bf16RoundsToNearestEven) {
  EXPECT_EQ(castToBf16(1.0f), 0x3f80);
  EXPECT_EQ(castToBf16(-0.0f), 0x8000);
  // Half a unit above 1.0 goes to the even neighbour below, above the next one
  // to the even one above.
  EXPECT_EQ(castToBf16(1.0f + 0x1p-8f), 0x3f80);
  EXPECT_EQ(castToBf16(1.0f + 0x1p-8f + 0x1p-20f), 0x3f81);
  EXPECT_EQ(castToBf16(1.0f + 0x3p-8f), 0x3f82);
  EXPECT_EQ(castToBf16(INFINITY), 0x7f80);
  EXPECT_EQ(castToBf16(3.4e38f), 0x7f80);
  EXPECT_EQ(castToBf16(NAN) & 0x7fc0, 0x7fc0);
}

TEST(Cast, Fp16RoundsToNearestEven) {
  EXPECT_EQ(castToFp16(1.0f), 0x3c00);
  EXPECT_EQ(castToFp16(-2.0f), 0xc000);
  EXPECT_EQ(castToFp16(1.0f + 0x1p-11f), 0x3c00);
  EXPECT_EQ(castToFp16(1.0f + 0x3p-11f), 0x3c02);
  EXPECT_EQ(castToFp16(65504.0f), 0x7bff);
  EXPECT_EQ(castToFp16(65520.0f), 0x7c00);
  EXPECT_EQ(castToFp16(0x1p-24f), 0x0001);
  EXPECT_EQ(castToFp16(0x1p-25f), 0x0000);
  EXPECT_EQ(castToFp16(0x3p-26f), 0x0001);
  EXPECT_EQ(castToFp16(0x1p-14f), 0x0400);
  EXPECT_EQ(castToFp16(NAN) & 0x7e00, 0x7e00);
}

TEST(Cast, ReadsAndWritesBoxes) {
  std::vector<float> source{1, 2, 3, 4, 5, 6};
  std::vector<uint16_t> target(4);
  Box from{{0, 2}, {0, 3}}, part{{0, 2}, {1, 3}};
  castBox({reinterpret_cast<std::byte *>(source.data()), from},
          {reinterpret_cast<std::byte *>(target.data()), part}, part,
          DType::bf16);
  EXPECT_EQ(target, (std::vector<uint16_t>{0x4000, 0x4040, 0x40a0, 0x40c0}));
}

} // namespace
