// The rules that what condenses a plan and what expands it share.

#ifndef ETC_PLAN_CONDENSEDORDER_H
#define ETC_PLAN_CONDENSEDORDER_H

#include "core/plan/plan_generated.h"
#include "etc/Geometry.h"

#include <algorithm>
#include <tuple>

namespace etc::plan {

/// The axis along which a box is cut into `parts`: the first one that is long
/// enough, or else the longest.
inline unsigned cutAxis(BoxView box, uint32_t parts) {
  unsigned longest = 0;
  for (unsigned axis = 0; axis != box.rank(); ++axis) {
    const int64_t extent = box[axis].end - box[axis].begin;
    if (extent >= static_cast<int64_t>(parts))
      return axis;
    if (extent > box[longest].end - box[longest].begin)
      longest = axis;
  }
  return longest;
}

/// Part `index` of `parts` of a span; may be empty.
inline Span partOf(Span whole, uint32_t index, uint32_t parts) {
  auto positionOf = [&](uint32_t number) {
    const auto scaled =
        static_cast<unsigned __int128>(whole.end - whole.begin) * number;
    return whole.begin + static_cast<int64_t>((scaled + parts - 1) / parts);
  };
  return {positionOf(index), positionOf(index + 1)};
}

/// The order of a round's operations. Boxes are looked up in `bounds` by the
/// rank of their tensor.
template <typename RankOf> class OpOrder {
public:
  OpOrder(const int64_t *bounds, RankOf rankOf)
      : bounds(bounds), rankOf(rankOf) {}

  bool operator()(const fb::Op &a, const fb::Op &b) const {
    const auto aKey = keyOf(a), bKey = keyOf(b);
    if (aKey != bKey)
      return aKey < bKey;
    if (a.kind() != fb::OpKind::release && a.box() != b.box()) {
      const unsigned length = 2 * rankOf(a.tensor());
      const int64_t *left = bounds + a.box(), *right = bounds + b.box();
      for (unsigned i = 0; i != length; ++i)
        if (left[i] != right[i])
          return left[i] < right[i];
    }
    return restOf(a) < restOf(b);
  }

private:
  static auto keyOf(const fb::Op &op) {
    return std::tuple(op.kind(), op.peer(), op.tensor(),
                      op.kind() == fb::OpKind::release && op.transit());
  }
  static auto restOf(const fb::Op &op) {
    return std::tuple(op.source(), op.from_curr(), op.transit());
  }

  const int64_t *bounds;
  RankOf rankOf;
};

} // namespace etc::plan

#endif // ETC_PLAN_CONDENSEDORDER_H
