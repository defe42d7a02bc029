// What vectors do on the host, against plain loops.

#include "core/pack/Cast.h"
#include "core/pack/Copy.h"
#include "core/pack/Hash.h"
#include "core/pack/HostCast.h"
#include "core/pack/Parts.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

using namespace etc;
using namespace etc::runtime;

namespace {

using Data = std::vector<std::byte>;

class HostMoves : public testing::Test {
protected:
  uint64_t number(uint64_t first, uint64_t last) {
    return std::uniform_int_distribution<uint64_t>(first, last)(random);
  }
  Data bytes(uint64_t count) {
    Data data(count);
    for (std::byte &byte : data)
      byte = std::byte(random());
    return data;
  }

  const unsigned seed = std::random_device{}();
  testing::ScopedTrace trace{__FILE__, __LINE__, seed};
  std::mt19937 random{seed};
};

TEST_F(HostMoves, HashIsTheSumOfItsUnits) {
  Data data = bytes(5000);
  for (int i = 0; i != 500; ++i) {
    const uint64_t begin = number(0, 100), size = number(0, 4800);
    const uint64_t position = number(0, 100) * kHashUnit;
    uint64_t expected = 0;
    for (uint64_t at = 0; at < size; at += kHashUnit) {
      uint64_t words[2]{};
      std::memcpy(words, &data[begin + at], std::min(size - at, kHashUnit));
      expected += hashUnit(words[0], words[1], position + at);
    }
    EXPECT_EQ(hashBytes(&data[begin], size, position), expected) << size;
  }
}

TEST_F(HostMoves, LargeCopiesOfAnyRuns) {
  Data source = bytes(6 << 20);
  // Below a line, up to four pages, and beyond.
  for (uint64_t width : {100, 128, 1000, 2048, 16384, 70001}) {
    for (uint64_t gap : {0, 64, 33}) {
      const auto wide = static_cast<int64_t>(width + gap);
      const auto rows = static_cast<int64_t>((3 << 20) / width);
      const uint64_t readFrom = number(0, 70), writeTo = number(0, 70);
      Box whole{{0, rows}, {0, wide}}, part{{0, rows}, {0, int64_t(width)}};
      Data target(6 << 20), expected = target;
      runMove(copyMove({&source[readFrom], whole}, {&target[writeTo], part},
                       part, 1));
      for (int64_t row = 0; row != rows; ++row)
        std::memcpy(&expected[writeTo + row * width],
                    &source[readFrom + row * wide], width);
      EXPECT_TRUE(target == expected) << width << " of " << wide;
    }
  }
}

/// Packs a box and unpacks it again; both hash what is packed.
TEST_F(HostMoves, PackedCopiesHashWhatTheyCopy) {
  Data source = bytes(1 << 20);
  for (uint64_t width : {24, 100, 1024, 5000, 70000}) {
    const auto rows = static_cast<int64_t>(500000 / width);
    Box whole{{0, rows}, {0, int64_t(2 * width)}};
    Box part{{0, rows}, {int64_t(width / 2), int64_t(width / 2 + width)}};
    const uint64_t size = volume(part);
    Data packed(size), target(source.size());
    std::vector<Move> moves{
        copyMove({source.data(), whole}, {packed.data(), part}, part, 1),
        copyMove({packed.data(), part}, {target.data(), whole}, part, 1)};
    moves[0].sum = 0, moves[1].sum = 1;
    moves[0].position = moves[1].position = 160;
    uint64_t sums[2]{};
    runMoves(moves, sums);
    EXPECT_EQ(sums[0], hashBytes(packed.data(), size, 160)) << width;
    EXPECT_EQ(sums[1], sums[0]) << width;
    Data again(size);
    for (int64_t row = 0; row != rows; ++row)
      std::memcpy(&again[row * width], &target[row * 2 * width + width / 2],
                  width);
    EXPECT_TRUE(again == packed) << width;
  }
}

/// Random boxes of up to three axes, packed from wherever they begin, against
/// a plain copy of their rows and the hash of the whole.
TEST_F(HostMoves, PackedBoxesHashWhatTheyCopy) {
  Data source = bytes(1 << 20);
  for (int i = 0; i != 400; ++i) {
    // Whole vectors, whole units of the hash, and anything.
    const auto unit = static_cast<int64_t>(i % 3 == 0   ? 64
                                           : i % 3 == 1 ? 16
                                                        : 1);
    const auto width = static_cast<int64_t>(number(1, 40)) * unit;
    const auto gap = static_cast<int64_t>(number(0, 3) * number(0, 300));
    const auto rows = static_cast<int64_t>(number(1, 12));
    const auto planes = static_cast<int64_t>(number(1, 5));
    const auto margin = static_cast<int64_t>(number(0, 3));
    Box whole{{0, planes}, {0, rows + margin}, {0, width + gap}};
    Box part{{0, planes}, {margin, rows + margin}, {gap, width + gap}};
    const uint64_t size = volume(part), readFrom = number(0, 130);
    const uint64_t writeTo = number(0, 130), position = number(0, 1000) * 16;
    Data packed(size + 260), expected = packed;
    Move move =
        copyMove({&source[readFrom], whole}, {&packed[writeTo], part}, part, 1);
    move.sum = 0, move.position = position;
    uint64_t sum = 0;
    runMoves({&move, 1}, {&sum, 1});
    std::byte *to = &expected[writeTo];
    for (int64_t plane = 0; plane != planes; ++plane)
      for (int64_t row = margin; row != rows + margin; ++row, to += width)
        std::memcpy(to,
                    &source[readFrom + gap +
                            (plane * (rows + margin) + row) * (width + gap)],
                    width);
    EXPECT_TRUE(packed == expected)
        << describe(part) << " of " << describe(whole);
    EXPECT_EQ(sum, hashBytes(&expected[writeTo], size, position))
        << describe(part) << " of " << describe(whole);
  }
}

TEST_F(HostMoves, CastsOfAnyBitsAndPlaces) {
  Data source = bytes(4 * 700 + 64);
  for (int i = 0; i != 200; ++i) // infinities and what is not a number
    source[number(0, 690) * 4 + 3] = std::byte(0x7f);
  for (int i = 0; i != 300; ++i) {
    const uint64_t count = number(0, 600);
    const std::byte *from = &source[number(0, 40)];
    Data target(1400), expected = target;
    const uint64_t writeTo = number(0, 70);
    castRunToBf16(&target[writeTo], from, count);
    for (uint64_t k = 0; k != count; ++k) {
      uint32_t bits;
      std::memcpy(&bits, from + 4 * k, sizeof bits);
      uint16_t cast = castBitsToBf16(bits);
      std::memcpy(&expected[writeTo + 2 * k], &cast, sizeof cast);
    }
    EXPECT_TRUE(target == expected) << count << " to " << writeTo;
  }
}

std::vector<std::string> partsOf(const Box &box, uint64_t most) {
  std::vector<std::string> parts;
  forEachPart(box, volume(box), most,
              [&](BoxView part) { parts.push_back(describe(part)); });
  return parts;
}

TEST(Parts, AreRowsOfTheOutermostAxisThatHasSeveral) {
  using Parts = std::vector<std::string>;
  EXPECT_EQ(partsOf({{2, 6}, {0, 10}}, 20),
            (Parts{"[2:4, 0:10]", "[4:6, 0:10]"}));
  EXPECT_EQ(partsOf({{3, 4}, {0, 5}}, 2),
            (Parts{"[3:4, 0:1]", "[3:4, 1:3]", "[3:4, 3:5]"}));
  EXPECT_EQ(partsOf({{0, 2}, {0, 10}}, 3),
            (Parts{"[0:1, 0:10]", "[1:2, 0:10]"}));
  EXPECT_EQ(partsOf({{0, 2}, {0, 10}}, 20), (Parts{"[0:2, 0:10]"}));
  EXPECT_EQ(partsOf({{0, 2}, {0, 10}}, ~uint64_t{0}), (Parts{"[0:2, 0:10]"}));
}

} // namespace
