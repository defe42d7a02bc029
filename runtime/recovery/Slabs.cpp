#include "recovery/Slabs.h"

#include <algorithm>

using namespace etc;

std::vector<Box> etc::runtime::cutIntoSlabs(BoxView box,
                                            uint64_t mostElements) {
  unsigned axis = 0;
  while (axis != box.rank() && box[axis].size() == 1)
    ++axis;
  if (axis == box.rank())
    return {Box(box)};
  const uint64_t rowElements = volume(box) / box[axis].size();
  const auto rows =
      static_cast<int64_t>(std::max<uint64_t>(1, mostElements / rowElements));
  std::vector<Box> slabs;
  for (int64_t row = box[axis].begin; row < box[axis].end; row += rows) {
    slabs.emplace_back(box);
    slabs.back()[axis] = {row, std::min(row + rows, box[axis].end)};
  }
  return slabs;
}
