// The kernel's body and the host's moves do the same, and hash the same.

#include "GpuFixture.h"

#include "core/pack/Copy.h"
#include "core/pack/Hash.h"
#include "core/pack/MoveUnits.h"

#include <random>

using namespace etc;
using namespace etc::runtime;
using etc::plan::fb::DType;

namespace {

using Data = std::vector<std::byte>;

/// A box of 16-bit elements within one that may be wider, in random places.
struct Case {
  explicit Case(unsigned seed) : random(seed) {
    const int64_t unit = int64_t{1} << number(0, 3);
    for (unsigned axis = 0; axis != part.rank(); ++axis) {
      int64_t begin = number(0, 3) * unit, end = begin + number(1, 9) * unit;
      part[axis] = {begin, end};
      whole[axis] = {begin - number(0, 1) * begin,
                     end + number(0, 1) * number(0, 5) * unit};
    }
    source = bytes(volume(whole) * size);
    message = Data(volume(part) * size);
  }

  int64_t number(int64_t first, int64_t last) {
    return std::uniform_int_distribution<int64_t>(first, last)(random);
  }
  Data bytes(uint64_t count) {
    Data out(count);
    for (std::byte &byte : out)
      byte = std::byte(number(0, 255));
    return out;
  }

  Move gather(Data &from, Data &to) {
    Move move = copyMove({from.data(), whole}, {to.data(), part}, part, size);
    move.sum = 0;
    move.position = 48;
    return move;
  }
  Move scatter(Data &from, Data &to) {
    Move move = copyMove({from.data(), part}, {to.data(), whole}, part, size);
    move.sum = 0;
    move.position = 48;
    return move;
  }

  static constexpr unsigned size = 2;
  std::mt19937 random;
  Box part = Box(3), whole = Box(3);
  Data source, message;
};

/// As the kernel's threads do it.
uint64_t runUnits(const Move &move) {
  uint64_t sum = 0;
  for (uint64_t tile = 0; tile != tilesOf(move); ++tile)
    for (uint32_t thread = 0; thread != kBlockThreads; ++thread)
      sum += runTile(move, tile, thread);
  return sum;
}

uint64_t runOnHost(const Move &move) {
  uint64_t sum = 0;
  runMoves({&move, 1}, {&sum, 1});
  return sum;
}

TEST(Moves, UnitsDoWhatTheHostDoes) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE(seed);
  for (unsigned i = 0; i != 500; ++i) {
    Case some(seed + i);
    Data other = some.message, target = some.source, wanted = some.source;
    uint64_t hash = runOnHost(some.gather(some.source, some.message));
    ASSERT_EQ(runUnits(some.gather(some.source, other)), hash);
    ASSERT_EQ(other, some.message);

    // The receiver sees the same message, however it scatters it.
    Data fresh = some.bytes(some.message.size());
    uint64_t scattered = runOnHost(some.scatter(fresh, wanted));
    ASSERT_EQ(runUnits(some.scatter(fresh, target)), scattered);
    ASSERT_EQ(target, wanted);
    ASSERT_EQ(scattered, hashBytes(fresh.data(), fresh.size(), 48));
  }
}

TEST(Moves, WideCopiesTakeTheFastPath) {
  // Rows of 1024 bytes, 2048 apart: 512 KiB in all, 32 tiles.
  Data source(1 << 20), packed(1 << 19), other(1 << 19);
  for (size_t i = 0; i != source.size(); ++i)
    source[i] = std::byte(i * 7 + i / 251);
  Box whole{{0, 512}, {0, 2048}}, part{{0, 512}, {256, 1280}};
  auto gather = [&](Data &to) {
    Move move = copyMove({source.data(), whole}, {to.data(), part}, part, 1);
    move.sum = 0;
    return move;
  };
  EXPECT_EQ(widthOf(gather(packed)), 16u);
  EXPECT_EQ(tilesOf(gather(packed)), 32u);
  uint64_t hash = runUnits(gather(packed));
  EXPECT_EQ(runOnHost(gather(other)), hash);
  EXPECT_EQ(packed, other);
  EXPECT_EQ(hash, hashBytes(packed.data(), packed.size(), 0));
}

TEST(Moves, LongRowsAreStreamed) {
  Data source(8 << 20), target(4 << 20), expected(4 << 20);
  for (size_t i = 0; i != source.size(); ++i)
    source[i] = std::byte(i * 13 + i / 509);
  // Rows of 5003 bytes begin at every alignment.
  Box whole{{0, 800}, {0, 10006}}, part{{0, 800}, {1, 5004}};
  Move move =
      copyMove({source.data(), whole}, {target.data() + 3, part}, part, 1);
  runOnHost(move);
  for (int64_t row = 0; row != 800; ++row)
    std::memcpy(&expected[3 + row * 5003], &source[row * 10006 + 1], 5003);
  EXPECT_EQ(target, expected);
}

TEST(Moves, LinesAreHashedAsTheyAreStreamed) {
  constexpr int64_t rows = 96, width = 4096;
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> memory(rows * width / sizeof(Line));
  std::byte *target = memory.data()->bytes;
  Data packed(rows * width);
  for (size_t i = 0; i != packed.size(); ++i)
    packed[i] = std::byte(i * 11 + i / 241);
  const Box whole{{0, rows}, {0, width}};
  // Rows that are lines throughout, all of it at once, and rows that are not.
  for (const Box &part :
       {Box{{0, rows}, {1024, 3072}}, whole, Box{{0, rows}, {32, 2080}},
        Box{{0, rows}, {64, 2096}}}) {
    std::fill_n(target, rows * width, std::byte(0));
    const int64_t run = part[1].size();
    Move move = copyMove({packed.data(), part}, {target, whole}, part, 1);
    move.sum = 0;
    move.position = 80;
    EXPECT_EQ(runOnHost(move), hashBytes(packed.data(), rows * run, 80));
    for (int64_t row = 0; row != rows; ++row)
      ASSERT_EQ(std::memcmp(target + row * width + part[1].begin,
                            &packed[row * run], run),
                0);
    const auto written =
        std::count_if(target, target + rows * width,
                      [](std::byte byte) { return byte != std::byte(0); });
    EXPECT_LE(written, rows * run); // nothing beside the rows
  }
}

TEST(Hash, DependsOnEveryByteAndItsPlace) {
  Data data(100);
  uint64_t none = hashBytes(data.data(), data.size(), 0);
  std::set<uint64_t> seen{none};
  for (size_t i = 0; i != data.size(); ++i) {
    data[i] = std::byte(1);
    EXPECT_TRUE(seen.insert(hashBytes(data.data(), data.size(), 0)).second);
    data[i] = std::byte(0);
  }
  EXPECT_NE(hashBytes(data.data(), data.size(), 16), none);
}

TEST(Hash, PartsAddUp) {
  Data data(1000);
  for (size_t i = 0; i != data.size(); ++i)
    data[i] = std::byte(i * 31);
  EXPECT_EQ(hashBytes(data.data(), 1000, 0),
            hashBytes(data.data() + 160, 840, 160) +
                hashBytes(data.data(), 160, 0));
}

TEST(Moves, ElementsAreCastFilledAndChecked) {
  std::vector<float> floats(300);
  for (size_t i = 0; i != floats.size(); ++i)
    floats[i] = static_cast<float>(i) * 0.37f - 20;
  std::vector<uint16_t> host(300), units(300);
  Box box{{0, 300}};
  for (DType type : {DType::bf16, DType::fp16}) {
    auto cast = [&](std::vector<uint16_t> &to) {
      return castMove({reinterpret_cast<std::byte *>(floats.data()), box},
                      {reinterpret_cast<std::byte *>(to.data()), box}, box,
                      type);
    };
    runOnHost(cast(host));
    runUnits(cast(units));
    EXPECT_EQ(host, units);
  }

  Move fill;
  fill.kind = MoveKind::Fill;
  fill.value = ValueKind::DerivedBf16;
  fill.from = 2000; // element 1000 of the tensor
  fill.to = reinterpret_cast<uint64_t>(units.data());
  fill.bytes = fill.runBytes = 600;
  fill.position = 77;
  runUnits(fill);
  EXPECT_EQ(units[5], valueBits(ValueKind::DerivedBf16, 77, 1005));
  fill.kind = MoveKind::Check;
  fill.sum = 0;
  EXPECT_EQ(runUnits(fill), 0u);
  units[7] ^= 1, units[299] ^= 0x8000;
  EXPECT_EQ(runUnits(fill), 2u);
  EXPECT_EQ(runOnHost(fill), 2u);
}

} // namespace
