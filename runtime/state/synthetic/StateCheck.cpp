#include "state/synthetic/StateCheck.h"

#include "core/pack/Runs.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <iomanip>
#include <sstream>

using namespace etc;
using namespace etc::runtime;
using etc::plan::Side;
using etc::plan::Status;

namespace {

/// Elements that are computed at a time for a comparison.
constexpr uint64_t kChunk = 2048;

/// A box of a region, all of whose elements follow the formula or are all zero.
struct OriginBox {
  Box box;
  bool isZero;
};

std::vector<OriginBox> splitByOrigin(const etc::plan::fb::Tensor &tensor,
                                     Side side, BoxView box) {
  if (side == Side::Prev || !tensor.prev_shape())
    return {{Box(box), false}};
  const Box prev = boxOfShape(*tensor.prev_shape());
  std::vector<OriginBox> parts;
  if (std::optional<Box> common = intersect(box, prev))
    parts.push_back({std::move(*common), false});
  for (Box &rest : subtract(box, prev))
    parts.push_back({std::move(rest), true});
  return parts;
}

/// The box of which an element's row-major index is its global one: as large as
/// the larger side on every axis, so that an element has one index.
Box globalBox(const etc::plan::fb::Tensor &tensor) {
  Box box = boxOfShape(*tensor.shape());
  if (const auto *prev = tensor.prev_shape())
    for (unsigned axis = 0; axis != prev->size(); ++axis)
      box[axis].end = std::max(box[axis].end, prev->Get(axis));
  return box;
}

/// Calls visit(globalIndex, regionIndex, count, isZero) for the runs of a
/// region; visit returns whether to go on.
template <typename Visit>
void visitRuns(const PlanIndex &index, uint32_t tensor, Side side, BoxView box,
               Visit visit) {
  const Box global = globalBox(index.tensor(tensor));
  for (const OriginBox &part : splitByOrigin(index.tensor(tensor), side, box))
    forEachRun(global, box, part.box,
               [&](uint64_t globalIndex, uint64_t regionIndex, uint64_t count) {
                 visit(globalIndex, regionIndex, count, part.isZero);
               });
}

/// "[3, 17]": where the element of a row-major index stands.
std::string describePosition(uint64_t index, BoxView box) {
  std::string out;
  for (unsigned axis = box.rank(); axis-- > 0;) {
    uint64_t extent = box[axis].size();
    uint64_t at = box[axis].begin + index % extent;
    out = std::to_string(at) + (out.empty() ? "" : ", ") + out;
    index /= extent;
  }
  return "[" + out + "]";
}

/// The bits of an element, most significant byte first.
std::string describeBits(const std::byte *element, unsigned bytes) {
  std::ostringstream out;
  out << "0x" << std::hex << std::setfill('0');
  for (unsigned i = bytes; i-- > 0;)
    out << std::setw(2) << std::to_integer<unsigned>(element[i]);
  return out.str();
}

/// The first element that differs, where one is known to.
uint64_t firstDifference(const std::byte *a, const std::byte *b,
                         unsigned elementBytes) {
  uint64_t i = 0;
  while (std::memcmp(a + i * elementBytes, b + i * elementBytes,
                     elementBytes) == 0)
    ++i;
  return i;
}

} // namespace

Status etc::runtime::compareElements(const PlanIndex &index, uint32_t tensor,
                                     BoxView box, const std::byte *expected,
                                     const std::byte *actual) {
  const unsigned size = index.elementBytes(tensor);
  if (std::memcmp(expected, actual, volume(box) * size) == 0)
    return Status::success();
  const uint64_t i = firstDifference(expected, actual, size);
  return Status(plan::ErrorKind::Verification,
                index.describeTensor(tensor) + describePosition(i, box) +
                    ": expected " + describeBits(expected + i * size, size) +
                    ", got " + describeBits(actual + i * size, size));
}

/// The parts of a region as moves of the formula, or of zeros.
static void appendValues(const PlanIndex &index, uint32_t tensor, Side side,
                         Region region, MoveKind values, MoveKind zeros,
                         std::vector<Move> &moves) {
  Formula formula(index, tensor);
  const Box global = globalBox(index.tensor(tensor));
  for (const OriginBox &part :
       splitByOrigin(index.tensor(tensor), side, region.box)) {
    Move move =
        copyMove({nullptr, global}, region, part.box, formula.elementBytes());
    move.kind = part.isZero ? zeros : values;
    move.position = formula.key();
    move.value = formula.kind();
    moves.push_back(move);
  }
}

void etc::runtime::appendFill(const PlanIndex &index, uint32_t tensor,
                              Side side, Region region,
                              std::vector<Move> &moves) {
  appendValues(index, tensor, side, region, MoveKind::Fill, MoveKind::Zero,
               moves);
}

void etc::runtime::appendCheck(const PlanIndex &index, uint32_t tensor,
                               Side side, ConstRegion region,
                               std::vector<Move> &moves) {
  appendValues(index, tensor, side,
               {const_cast<std::byte *>(region.data), region.box},
               MoveKind::Check, MoveKind::CheckZero, moves);
}

void etc::runtime::fillRegion(const PlanIndex &index, uint32_t tensor,
                              Side side, Region region) {
  Formula formula(index, tensor);
  const unsigned size = formula.elementBytes();
  visitRuns(index, tensor, side, region.box,
            [&](uint64_t first, uint64_t at, uint64_t count, bool isZero) {
              if (isZero)
                std::memset(region.data + at * size, 0, count * size);
              else
                formula.generate(first, count, region.data + at * size);
            });
}

Status etc::runtime::checkRegion(const PlanIndex &index, uint32_t tensor,
                                 Side side, ConstRegion region) {
  Formula formula(index, tensor);
  const unsigned size = formula.elementBytes();
  alignas(64) std::array<std::byte, kChunk * 8> expected{};
  uint64_t wrong = ~uint64_t{0};
  std::string bits;
  auto compare = [&](uint64_t at, uint64_t count) {
    const std::byte *actual = region.data + at * size;
    if (std::memcmp(actual, expected.data(), count * size) == 0)
      return;
    uint64_t i = firstDifference(actual, expected.data(), size);
    if (at + i >= wrong)
      return;
    wrong = at + i;
    bits = "expected " + describeBits(expected.data() + i * size, size) +
           ", got " + describeBits(actual + i * size, size);
  };
  visitRuns(index, tensor, side, region.box,
            [&](uint64_t first, uint64_t at, uint64_t count, bool isZero) {
              for (uint64_t done = 0; done < count && at + done < wrong;
                   done += kChunk) {
                uint64_t now = std::min(kChunk, count - done);
                if (isZero)
                  std::memset(expected.data(), 0, now * size);
                else
                  formula.generate(first + done, now, expected.data());
                compare(at + done, now);
              }
            });
  if (bits.empty())
    return Status::success();
  return Status(plan::ErrorKind::Verification,
                index.describeTensor(tensor) +
                    describePosition(wrong, region.box) + ": " + bits);
}
