// Building the class graph of two grids of boxes by merging sorted intervals.

#ifndef ETC_OPTIMIZE_ASSIGNMENT_OVERLAP_H
#define ETC_OPTIMIZE_ASSIGNMENT_OVERLAP_H

#include "etc/Geometry.h"
#include "etc/Optimize/Assignment/Problem.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace etc::assignment {

/// Classes (p, t) that hold layers[p] x slices[t]; class (p, t) has the index p
/// * slices.size() + t. Both families are ascending and disjoint: each interval
/// ends at or before the begin of the next one.
struct BoxGrid {
  std::vector<Span> layers;
  std::vector<Span> slices;
};

/// Intervals `first` and `second` of two families share `length` > 0 units.
struct Overlap {
  int32_t first;
  int32_t second;
  int64_t length;
};

/// Says where a family of intervals is not ascending and disjoint; nothing if
/// it is.
std::optional<std::string> checkIntervals(std::span<const Span> family);

/// All overlaps of two ascending, disjoint families, ascending by (first,
/// second): at most |a| + |b| - 1.
std::vector<Overlap> overlaps(std::span<const Span> a, std::span<const Span> b);

/// The edges of a problem whose rows are `roles` and whose columns are
/// `devices`: weight (0, shared layers * shared slices), ascending by (row,
/// col), none of weight zero. Takes time proportional to the grids and the
/// edges, of which there are at most (P + P' - 1) * (T + T' - 1).
std::vector<Edge> overlapEdges(const BoxGrid &roles, const BoxGrid &devices);

} // namespace etc::assignment

#endif // ETC_OPTIMIZE_ASSIGNMENT_OVERLAP_H
