// Random boxes against a bitmap: a box is nothing but the elements it has.

#include "etc/Geometry.h"

#include <gtest/gtest.h>

#include <random>

using namespace etc;

namespace {

/// Which elements of a small tensor are meant, in row-major order.
class Bitmap {
public:
  explicit Bitmap(const Box &shape) : shape(shape), bits(volume(shape)) {}
  Bitmap(const Box &shape, const Box &box) : Bitmap(shape) { add(box); }

  /// Adds a box, and says whether all of it was new.
  bool add(const Box &box) {
    bool isNew = true;
    for (size_t at = 0; at != bits.size(); ++at)
      if (isIn(at, box)) {
        isNew &= !bits[at];
        bits[at] = true;
      }
    return isNew;
  }
  uint64_t count() const { return std::count(bits.begin(), bits.end(), true); }
  /// Elements of this one that the other has too, or has not.
  Bitmap combine(const Bitmap &other, bool has) const {
    Bitmap result(shape);
    for (size_t at = 0; at != bits.size(); ++at)
      result.bits[at] = bits[at] && other.bits[at] == has;
    return result;
  }
  bool operator==(const Bitmap &other) const { return bits == other.bits; }

private:
  bool isIn(size_t at, const Box &box) const {
    for (unsigned axis = shape.rank(); axis-- > 0;) {
      const int64_t extent = shape[axis].size();
      const auto position = static_cast<int64_t>(at % extent);
      at /= extent;
      if (!box[axis].contains({position, position + 1}))
        return false;
    }
    return true;
  }

  Box shape;
  std::vector<bool> bits;
};

class Draw {
public:
  explicit Draw(unsigned seed) : random(seed) {}

  Box shape() {
    Box box(number(0, 5));
    for (unsigned axis = 0; axis != box.rank(); ++axis)
      box[axis] = {0, number(1, 5)};
    return box;
  }
  /// Part of a shape; one in some is empty.
  Box boxIn(const Box &shape) {
    Box box = shape;
    for (unsigned axis = 0; axis != box.rank(); ++axis) {
      const int64_t extent = shape[axis].size(), begin = number(0, extent - 1);
      box[axis] = {begin, number(begin + (number(0, 9) > 0), extent)};
    }
    return box;
  }

private:
  int64_t number(int64_t least, int64_t most) {
    return std::uniform_int_distribution(least, most)(random);
  }

  std::mt19937 random;
};

class GeometryProperties : public testing::TestWithParam<unsigned> {
protected:
  Draw draw{GetParam()};
  const Box shape = draw.shape();
  const Box a = draw.boxIn(shape), b = draw.boxIn(shape);
  const Bitmap ofA{shape, a}, ofB{shape, b};
  const Bitmap inBoth = ofA.combine(ofB, true);
};

} // namespace

TEST_P(GeometryProperties, VolumesCountElements) {
  EXPECT_EQ(volume(a), ofA.count());
  EXPECT_EQ(sharedVolume(a, b), inBoth.count());
}

TEST_P(GeometryProperties, WhatIsSharedIsInBoth) {
  const std::optional<Box> shared = intersect(a, b);
  EXPECT_EQ(shared.has_value(), inBoth.count() > 0);
  EXPECT_EQ(shared.has_value(), intersects(a, b));
  if (shared) {
    EXPECT_EQ(Bitmap(shape, *shared), inBoth);
  }
  EXPECT_EQ(intersect(b, a), shared);
}

TEST_P(GeometryProperties, WhatContainsSharesAllOfTheOther) {
  if (volume(b) > 0) {
    EXPECT_EQ(contains(a, b), inBoth.count() == volume(b));
  }
  EXPECT_TRUE(contains(shape, a));
}

TEST_P(GeometryProperties, DifferencesAreDisjointAndTheRest) {
  const std::vector<Box> rest = subtract(a, b);
  EXPECT_LE(rest.size(), std::max(1u, 2 * shape.rank()));
  Bitmap covered(shape);
  for (const Box &box : rest) {
    EXPECT_TRUE(covered.add(box));
    EXPECT_EQ(volume(box) == 0, volume(a) == 0);
  }
  EXPECT_EQ(covered, ofA.combine(ofB, false));
}

TEST_P(GeometryProperties, WhatIsTakenFromListsIsGoneFromAllOfThem) {
  std::vector<Box> left{shape};
  Bitmap taken(shape), covered(shape);
  for (int turn = 0; turn != 4; ++turn) {
    const Box part = draw.boxIn(shape);
    left = subtract(left, part);
    taken.add(part);
  }
  for (const Box &box : left)
    EXPECT_TRUE(covered.add(box));
  EXPECT_EQ(covered, Bitmap(shape, shape).combine(taken, false));
}

TEST_P(GeometryProperties, AnOverlapIsFoundWhereverThereIsOne) {
  std::vector<Box> boxes;
  Bitmap covered(shape);
  for (bool isNew = true; isNew && boxes.size() != 4;) {
    const auto found = findOverlap(boxes);
    EXPECT_FALSE(found.has_value());
    boxes.push_back(draw.boxIn(shape));
    isNew = covered.add(boxes.back());
    if (!isNew && shape.rank() > 0) {
      const auto found = findOverlap(boxes);
      ASSERT_TRUE(found.has_value());
      EXPECT_EQ(found->second, boxes.size() - 1);
      EXPECT_TRUE(intersects(boxes[found->first], boxes[found->second]));
    }
  }
}

TEST_P(GeometryProperties, ViewsAndBoxesAgree) {
  const BoxView viewA = a, viewB = b;
  EXPECT_EQ(intersect(viewA, viewB), intersect(a, b));
  EXPECT_EQ(subtract(viewA, viewB), subtract(a, b));
  EXPECT_EQ(viewA <=> viewB, a <=> b);
  EXPECT_EQ(viewA == viewB, a == b);
}

INSTANTIATE_TEST_SUITE_P(Random, GeometryProperties, testing::Range(0u, 500u));
