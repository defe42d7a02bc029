// Boxes: half-open ranges, one per axis of a tensor's planning shape.

#ifndef ETC_PLAN_BOX_H
#define ETC_PLAN_BOX_H

#include "plan/plan_generated.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace etc::plan {

/// Tensors have at most this many axes.
constexpr unsigned kMaxRank = 8;

/// A view of 2 * rank numbers begin0, end0, begin1, end1, ... which it does not
/// own.
class Box {
public:
  Box() = default;
  Box(const int64_t *bounds, unsigned rank) : bounds_(bounds), rank_(rank) {}
  explicit Box(const std::vector<int64_t> &bounds)
      : Box(bounds.data(), static_cast<unsigned>(bounds.size() / 2)) {}

  unsigned rank() const { return rank_; }
  int64_t begin(unsigned axis) const { return bounds_[2 * axis]; }
  int64_t end(unsigned axis) const { return bounds_[2 * axis + 1]; }
  int64_t extent(unsigned axis) const { return end(axis) - begin(axis); }
  std::span<const int64_t> bounds() const { return {bounds_, 2 * rank_}; }

  /// The number of elements.
  uint64_t volume() const {
    uint64_t product = 1;
    for (unsigned axis = 0; axis != rank_; ++axis)
      product *= static_cast<uint64_t>(extent(axis));
    return product;
  }
  bool operator==(const Box &other) const;

private:
  const int64_t *bounds_ = nullptr;
  unsigned rank_ = 0;
};

/// All functions of two boxes take boxes of one tensor: their ranks are equal.
bool contains(Box outer, Box inner);
bool intersects(Box a, Box b);
/// The number of elements in both.
uint64_t commonVolume(Box a, Box b);

/// The positions of two boxes that share an element, or nothing where all are
/// pairwise disjoint.
std::optional<std::pair<size_t, size_t>>
findOverlap(std::span<const Box> boxes);

/// The bounds of disjoint boxes that make up `whole` without `part`, at most
/// two an axis.
std::vector<std::vector<int64_t>> subtract(Box whole, Box part);

/// The bounds of a box that lies in `whole` and outside all of `parts`; empty
/// where the parts cover the whole.
std::vector<int64_t> findUncovered(Box whole, std::span<const Box> parts);

/// "[0:384, 0:3072]".
std::string describe(Box box);

/// Bytes of one element.
unsigned elementBytes(fb::DType dtype);

/// Sums of bytes saturate, so that no plan can wrap them.
uint64_t addBytes(uint64_t a, uint64_t b);
uint64_t mulBytes(uint64_t a, uint64_t b);

} // namespace etc::plan

#endif // ETC_PLAN_BOX_H
