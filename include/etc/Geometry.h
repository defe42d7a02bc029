//===- Geometry.h - Spans and boxes -----------------------------*- C++ -*-===//
//
// The one geometry of the project: the dialect, the planner and the runtime,
// which builds without LLVM, all say with these types what part of a tensor
// they mean. Positions count elements along an axis of a planning shape.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_GEOMETRY_H
#define ETC_GEOMETRY_H

#include <algorithm>
#include <array>
#include <compare>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace etc {

//===----------------------------------------------------------------------===//
// Spans
//===----------------------------------------------------------------------===//

/// The positions from `begin` on that lie before `end`; `begin` <= `end`.
/// Spans are ordered by their begin, then by their end.
struct Span {
  int64_t begin = 0, end = 0;

  constexpr int64_t size() const { return end - begin; }
  constexpr bool empty() const { return begin == end; }
  constexpr bool contains(Span other) const {
    return begin <= other.begin && other.end <= end;
  }
  constexpr Span shifted(int64_t distance) const {
    return {begin + distance, end + distance};
  }
  auto operator<=>(const Span &) const = default;
};

/// The positions that two spans share: an empty span where there are none.
constexpr Span intersect(Span a, Span b) {
  const int64_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

constexpr bool intersects(Span a, Span b) {
  return std::max(a.begin, b.begin) < std::min(a.end, b.end);
}

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

class Box;

/// A box that somebody else owns: one span for each axis, side by side in
/// memory that outlives the view. Pass it by value.
class BoxView {
public:
  using Owner = Box;

  BoxView() = default;
  BoxView(const Span *spans, unsigned rank) : spans(spans), rank_(rank) {}
  /// Sees the 2 * `rank` numbers begin0, end0, begin1, ... of a file in place.
  static BoxView ofBounds(const int64_t *bounds, unsigned rank) {
    static_assert(sizeof(Span) == 2 * sizeof(int64_t) &&
                      alignof(Span) == alignof(int64_t),
                  "a span is its two bounds");
    return {reinterpret_cast<const Span *>(bounds), rank};
  }

  unsigned rank() const { return rank_; }
  const Span &operator[](unsigned axis) const { return spans[axis]; }
  const Span *begin() const { return spans; }
  const Span *end() const { return spans + rank_; }

private:
  const Span *spans = nullptr;
  unsigned rank_ = 0;
};

/// A box that owns its spans. Those of up to three axes, as almost all tensors
/// have them, take no memory of their own.
class Box {
public:
  using Owner = Box;

  /// Of rank 0.
  Box() = default;
  /// Empty spans at 0.
  explicit Box(unsigned rank) : rank_(rank) {
    if (rank > near.size())
      far = std::make_unique<Span[]>(rank);
  }
  Box(std::initializer_list<Span> spans)
      : Box(BoxView(spans.begin(), static_cast<unsigned>(spans.size()))) {}
  explicit Box(BoxView view) : Box(view.rank()) {
    std::copy(view.begin(), view.end(), data());
  }
  Box(const Box &other) : Box(BoxView(other)) {}
  /// Leaves a box of rank 0.
  Box(Box &&other) noexcept { swap(other); }
  Box &operator=(Box other) noexcept {
    swap(other);
    return *this;
  }

  operator BoxView() const { return {data(), rank_}; }
  unsigned rank() const { return rank_; }
  Span &operator[](unsigned axis) { return data()[axis]; }
  const Span &operator[](unsigned axis) const { return data()[axis]; }
  const Span *begin() const { return data(); }
  const Span *end() const { return data() + rank_; }

private:
  Span *data() { return far ? far.get() : near.data(); }
  const Span *data() const { return far ? far.get() : near.data(); }
  void swap(Box &other) noexcept {
    std::swap(rank_, other.rank_);
    std::swap(near, other.near);
    std::swap(far, other.far);
  }

  unsigned rank_ = 0;
  std::array<Span, 3> near;
  std::unique_ptr<Span[]> far; ///< where `near` is too small
};

/// Same ranks and spans.
inline bool operator==(BoxView a, BoxView b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}
/// By the span of the first axis in which they differ.
inline std::strong_ordering operator<=>(BoxView a, BoxView b) {
  return std::lexicographical_compare_three_way(a.begin(), a.end(), b.begin(),
                                                b.end());
}

/// All of a shape, a list of extents.
template <typename Shape> Box boxOfShape(const Shape &shape) {
  Box box(static_cast<unsigned>(shape.size()));
  unsigned axis = 0;
  for (int64_t extent : shape)
    box[axis++] = {0, extent};
  return box;
}

//===----------------------------------------------------------------------===//
// What two boxes have in common
//===----------------------------------------------------------------------===//

/// What has a span for each axis: a Box, a view of one, or a type that also
/// names the tensor. `Owner` is what a part of it is: a copy, of which the
/// spans are replaced.
template <typename T>
concept BoxLike = requires(const T &box, typename T::Owner &part) {
  { box.rank() } -> std::convertible_to<unsigned>;
  { box[0u] } -> std::convertible_to<Span>;
  { part[0u] } -> std::same_as<Span &>;
};

/// The number of elements, 1 without axes. Modulo 2^64: who reads tensors from
/// outside checks that theirs is less.
template <BoxLike B> uint64_t volume(const B &box) {
  uint64_t elements = 1;
  for (unsigned axis = 0; axis != box.rank(); ++axis)
    elements *= static_cast<uint64_t>(box[axis].size());
  return elements;
}

/// "[0:384, 0:3072]".
template <BoxLike B> std::string describe(const B &box) {
  std::string out;
  for (unsigned axis = 0; axis != box.rank(); ++axis)
    out += (axis ? ", " : "") + std::to_string(box[axis].begin) + ":" +
           std::to_string(box[axis].end);
  return "[" + out + "]";
}

// All that follow take boxes of one tensor: their ranks are equal.

template <BoxLike A, BoxLike B> bool contains(const A &outer, const B &inner) {
  for (unsigned axis = 0; axis != outer.rank(); ++axis)
    if (!outer[axis].contains(inner[axis]))
      return false;
  return true;
}

/// Whether both have an element.
template <BoxLike A, BoxLike B> bool intersects(const A &a, const B &b) {
  for (unsigned axis = 0; axis != a.rank(); ++axis)
    if (!intersects(a[axis], b[axis]))
      return false;
  return true;
}

/// The number of elements that both have.
template <BoxLike A, BoxLike B> uint64_t sharedVolume(const A &a, const B &b) {
  uint64_t elements = 1;
  for (unsigned axis = 0; axis != a.rank(); ++axis)
    elements *= static_cast<uint64_t>(intersect(a[axis], b[axis]).size());
  return elements;
}

/// The part of `a` that is in `b` too; nothing where they share no element.
template <BoxLike A, BoxLike B>
std::optional<typename A::Owner> intersect(const A &a, const B &b) {
  if (!intersects(a, b))
    return std::nullopt;
  std::optional<typename A::Owner> common(a);
  for (unsigned axis = 0; axis != a.rank(); ++axis)
    (*common)[axis] = intersect(a[axis], b[axis]);
  return common;
}

/// Calls visit(rest) for disjoint boxes that make up `whole` without `part`:
/// what lies before and behind the part along the first axis, then within it
/// along the next. Each has elements, unless `whole` has none. The box is gone
/// when visit() returns.
template <BoxLike A, BoxLike B, typename Visit>
void forEachOutside(const A &whole, const B &part, Visit visit) {
  typename A::Owner core(whole);
  if (!intersects(whole, part))
    return visit(std::as_const(core));
  for (unsigned axis = 0; axis != whole.rank(); ++axis) {
    const Span all = whole[axis], inside = intersect(all, part[axis]);
    for (Span side : {Span{all.begin, inside.begin}, Span{inside.end, all.end}})
      if (!side.empty()) {
        core[axis] = side;
        visit(std::as_const(core));
      }
    core[axis] = inside;
  }
}

/// The boxes of forEachOutside().
template <BoxLike A, BoxLike B>
std::vector<typename A::Owner> subtract(const A &whole, const B &part) {
  std::vector<typename A::Owner> rest;
  forEachOutside(whole, part, [&](const auto &box) { rest.push_back(box); });
  return rest;
}

/// What is left of disjoint boxes without `part`, in their order.
template <BoxLike A, BoxLike B>
std::vector<A> subtract(const std::vector<A> &boxes, const B &part) {
  std::vector<A> rest;
  for (const A &box : boxes)
    forEachOutside(box, part, [&](const A &left) { rest.push_back(left); });
  return rest;
}

/// How many pairs of boxes meet along an axis.
template <BoxLike B>
int64_t countMeetings(const std::vector<B> &boxes, unsigned axis) {
  std::vector<int64_t> begins, ends;
  for (const B &box : boxes) {
    begins.push_back(box[axis].begin);
    ends.push_back(box[axis].end);
  }
  std::sort(begins.begin(), begins.end());
  std::sort(ends.begin(), ends.end());
  // Each meets those that begin before it ends, but for those that begin
  // before it and itself.
  int64_t meetings = 0, begun = 0;
  const auto count = static_cast<int64_t>(boxes.size());
  for (int64_t i = 0; i != count; ++i) {
    while (begun != count && begins[begun] < ends[i])
      ++begun;
    meetings += begun - i - 1;
  }
  return meetings;
}

/// The axis along which the fewest boxes meet.
template <BoxLike B> unsigned sparsestAxis(const std::vector<B> &boxes) {
  unsigned sparsest = 0;
  int64_t fewest = std::numeric_limits<int64_t>::max();
  for (unsigned axis = 0; axis != boxes.front().rank(); ++axis)
    if (const int64_t meetings = countMeetings(boxes, axis); meetings < fewest)
      std::tie(sparsest, fewest) = std::pair(axis, meetings);
  return sparsest;
}

/// The positions of two boxes that share an element, the lower one first;
/// nothing where all are disjoint.
template <BoxLike B>
std::optional<std::pair<size_t, size_t>>
findOverlap(const std::vector<B> &boxes) {
  if (boxes.size() < 2 || boxes.front().rank() == 0)
    return std::nullopt;
  // A sweep along an axis: only boxes that meet there are compared.
  const unsigned axis = sparsestAxis(boxes);
  std::vector<size_t> order(boxes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return boxes[a][axis].begin < boxes[b][axis].begin;
  });
  for (auto a = order.begin(); a != order.end(); ++a)
    for (auto b = a + 1; b != order.end(); ++b) {
      if (boxes[*b][axis].begin >= boxes[*a][axis].end)
        break;
      if (intersects(boxes[*a], boxes[*b]))
        return std::minmax(*a, *b);
    }
  return std::nullopt;
}

} // namespace etc

#endif // ETC_GEOMETRY_H
