// Merging interval families into the edges of a class graph.

#include "etc/Optimize/Assignment/Overlap.h"

#include "Message.h"

#include <algorithm>
#include <cassert>

namespace etc::assignment {
namespace {

// begins[i] is where the overlaps with first == i start; one more entry ends
// the last.
std::vector<size_t> groupByFirst(const std::vector<Overlap> &overlaps,
                                 size_t count) {
  std::vector<size_t> begins(count + 1, 0);
  for (const Overlap &overlap : overlaps)
    ++begins[overlap.first + 1];
  for (size_t i = 0; i < count; ++i)
    begins[i + 1] += begins[i];
  return begins;
}

} // namespace

std::optional<std::string> checkIntervals(std::span<const Span> family) {
  for (size_t i = 0; i < family.size(); ++i) {
    auto [begin, end] = family[i];
    At at{"intervals", i};
    if (begin > end)
      return text(at, ": [", begin, ", ", end, ") ends before it begins");
    if (i > 0 && begin < family[i - 1].end)
      return text(at, ": [", begin, ", ", end, ") begins before ",
                  family[i - 1].end, ", the end of the interval before it");
  }
  return std::nullopt;
}

std::vector<Overlap> overlaps(std::span<const Span> a,
                              std::span<const Span> b) {
  assert(!checkIntervals(a) && !checkIntervals(b));
  std::vector<Overlap> result;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (int64_t shared = intersect(a[i], b[j]).size())
      result.push_back({int32_t(i), int32_t(j), shared});
    // Whichever ends first meets nothing further.
    if (a[i].end < b[j].end)
      ++i;
    else
      ++j;
  }
  return result;
}

std::vector<Edge> overlapEdges(const BoxGrid &roles, const BoxGrid &devices) {
  std::vector<Overlap> layers = overlaps(roles.layers, devices.layers);
  std::vector<Overlap> slices = overlaps(roles.slices, devices.slices);
  std::vector<size_t> layerBegins = groupByFirst(layers, roles.layers.size());
  std::vector<size_t> sliceBegins = groupByFirst(slices, roles.slices.size());
  size_t rowStride = roles.slices.size();
  size_t colStride = devices.slices.size();

  std::vector<Edge> edges;
  edges.reserve(layers.size() * slices.size());
  for (size_t p = 0; p < roles.layers.size(); ++p)
    for (size_t t = 0; t < roles.slices.size(); ++t)
      for (size_t l = layerBegins[p]; l < layerBegins[p + 1]; ++l)
        for (size_t s = sliceBegins[t]; s < sliceBegins[t + 1]; ++s)
          edges.push_back(
              {int32_t(p * rowStride + t),
               int32_t(layers[l].second * colStride + slices[s].second),
               {0, layers[l].length * slices[s].length}});
  return edges;
}

} // namespace etc::assignment
