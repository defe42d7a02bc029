#include "plan/Box.h"

#include <algorithm>
#include <limits>
#include <numeric>

using namespace etc::plan;

bool Box::operator==(const Box &other) const {
  return rank_ == other.rank_ &&
         (bounds_ == other.bounds_ ||
          std::equal(bounds_, bounds_ + 2 * rank_, other.bounds_));
}

bool etc::plan::contains(Box outer, Box inner) {
  for (unsigned axis = 0; axis != outer.rank(); ++axis)
    if (inner.begin(axis) < outer.begin(axis) ||
        inner.end(axis) > outer.end(axis))
      return false;
  return true;
}

bool etc::plan::intersects(Box a, Box b) {
  for (unsigned axis = 0; axis != a.rank(); ++axis)
    if (a.begin(axis) >= b.end(axis) || b.begin(axis) >= a.end(axis))
      return false;
  return true;
}

uint64_t etc::plan::commonVolume(Box a, Box b) {
  uint64_t product = 1;
  for (unsigned axis = 0; axis != a.rank(); ++axis) {
    int64_t begin = std::max(a.begin(axis), b.begin(axis));
    int64_t end = std::min(a.end(axis), b.end(axis));
    product *= end > begin ? static_cast<uint64_t>(end - begin) : 0;
  }
  return product;
}

std::optional<std::pair<size_t, size_t>>
etc::plan::findOverlap(std::span<const Box> boxes) {
  if (boxes.size() < 2)
    return std::nullopt;
  // A sweep along axis 0: only boxes whose ranges meet there are compared.
  std::vector<size_t> order(boxes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return boxes[a].begin(0) < boxes[b].begin(0);
  });
  for (size_t i = 0; i != order.size(); ++i)
    for (size_t j = i + 1; j != order.size(); ++j) {
      Box a = boxes[order[i]], b = boxes[order[j]];
      if (b.begin(0) >= a.end(0))
        break;
      if (intersects(a, b))
        return std::minmax(order[i], order[j]);
    }
  return std::nullopt;
}

std::vector<std::vector<int64_t>> etc::plan::subtract(Box whole, Box part) {
  std::vector<int64_t> core(whole.bounds().begin(), whole.bounds().end());
  if (!intersects(whole, part))
    return {core};
  std::vector<std::vector<int64_t>> rest;
  for (unsigned axis = 0; axis != part.rank(); ++axis) {
    int64_t &begin = core[2 * axis], &end = core[2 * axis + 1];
    if (begin < part.begin(axis)) {
      rest.push_back(core);
      rest.back()[2 * axis + 1] = part.begin(axis);
      begin = part.begin(axis);
    }
    if (end > part.end(axis)) {
      rest.push_back(core);
      rest.back()[2 * axis] = part.end(axis);
      end = part.end(axis);
    }
  }
  return rest;
}

std::vector<int64_t> etc::plan::findUncovered(Box whole,
                                              std::span<const Box> parts) {
  std::vector<std::vector<int64_t>> left(1);
  left[0].assign(whole.bounds().begin(), whole.bounds().end());
  for (Box part : parts) {
    std::vector<std::vector<int64_t>> rest;
    for (const std::vector<int64_t> &piece : left)
      for (std::vector<int64_t> &cut : subtract(Box(piece), part))
        rest.push_back(std::move(cut));
    left = std::move(rest);
  }
  if (left.empty())
    return {};
  return *std::min_element(left.begin(), left.end());
}

std::string etc::plan::describe(Box box) {
  std::string out = "[";
  for (unsigned axis = 0; axis != box.rank(); ++axis) {
    if (axis != 0)
      out += ", ";
    out +=
        std::to_string(box.begin(axis)) + ":" + std::to_string(box.end(axis));
  }
  return out + "]";
}

unsigned etc::plan::elementBytes(fb::DType dtype) {
  switch (dtype) {
  case fb::DType::bf16:
  case fb::DType::fp16:
    return 2;
  case fb::DType::fp32:
    return 4;
  case fb::DType::fp64:
  case fb::DType::i64:
    return 8;
  case fb::DType::u8:
    return 1;
  }
  return 0;
}

uint64_t etc::plan::addBytes(uint64_t a, uint64_t b) {
  uint64_t sum;
  return __builtin_add_overflow(a, b, &sum)
             ? std::numeric_limits<uint64_t>::max()
             : sum;
}

uint64_t etc::plan::mulBytes(uint64_t a, uint64_t b) {
  uint64_t product;
  return __builtin_mul_overflow(a, b, &product)
             ? std::numeric_limits<uint64_t>::max()
             : product;
}
