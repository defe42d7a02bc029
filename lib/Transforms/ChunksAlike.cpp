//===- ChunksAlike.cpp - Chunks of the same size --------------------------===//

#include "ChunksAlike.h"

using namespace etc;
using namespace mlir;

static bool isIn(const Step &step, const Portion &portion) {
  return !portion.derives && step.isTransfer() && step.isOf(portion.type) &&
         step.getHop() == portion.hop;
}

static int64_t lengthOf(const Step &step, int64_t chunks) {
  const Piece &piece = *step.piece;
  return piece[chunkAxis(piece, chunks)].size();
}

ChunkSizes::ChunkSizes(ArrayRef<ItemFlow> flows, const Portion &portion)
    : chunks(portion.chunks) {
  for (const ItemFlow &flow : flows)
    for (const Step &step : flow.steps)
      if (isIn(step, portion) &&
          !llvm::is_contained(lengths, lengthOf(step, chunks)))
        lengths.push_back(lengthOf(step, chunks));
}

std::optional<unsigned> ChunkSizes::findAxis(const Step &step,
                                             const Portion &portion) const {
  if (!isIn(step, portion))
    return std::nullopt;
  return llvm::find(lengths, lengthOf(step, chunks)) - lengths.begin();
}

SmallVector<int64_t, 2> ChunkSizes::getSizes(int64_t chunk) const {
  SmallVector<int64_t, 2> sizes;
  for (int64_t length : lengths)
    sizes.push_back(chunkOf({0, length}, chunk, chunks).size());
  return sizes;
}

unsigned ChunkSizes::number(int64_t chunk) {
  SmallVector<int64_t, 2> sizes = getSizes(chunk);
  const auto *it = llvm::find(known, sizes);
  const auto number = static_cast<unsigned>(it - known.begin());
  if (it == known.end())
    known.push_back(std::move(sizes));
  return number;
}

namespace {
/// Goes through the units of the first item of a kind.
class FirstsOfItem {
public:
  explicit FirstsOfItem(ArrayRef<ItemFlow> flows) : flows(flows) {}

  unsigned find(unsigned unit, const Portion &portion) {
    if (portion.derives || portion.chunks == 1)
      return unit;
    if (portion.chunk == 0) {
      sizes.emplace(flows, portion);
      firsts.clear();
    }
    const unsigned number = sizes->number(portion.chunk);
    if (number == firsts.size())
      firsts.push_back(unit);
    return firsts[number];
  }

private:
  ArrayRef<ItemFlow> flows;
  /// Of the portion whose chunks are gone through: those of each size.
  std::optional<ChunkSizes> sizes;
  SmallVector<unsigned, 2> firsts;
};
} // namespace

std::vector<unsigned> etc::findFirstsAlike(const ProgramFlows &flows,
                                           ArrayRef<Chunk> chunks,
                                           const ItemKinds &kinds) {
  std::vector<std::optional<unsigned>> firstOf(kinds.size());
  std::vector<unsigned> firsts;
  firsts.reserve(chunks.size());
  for (unsigned begin = 0, end = 0; begin < chunks.size(); begin = end) {
    const unsigned item = chunks[begin].item;
    while (end < chunks.size() && chunks[end].item == item)
      ++end;
    std::optional<unsigned> &first = firstOf[kinds[item]];
    FirstsOfItem ofItem(flows.getFlows(item));
    for (unsigned unit = begin; unit < end; ++unit)
      firsts.push_back(first ? firsts[*first + (unit - begin)]
                             : ofItem.find(unit, chunks[unit].portion));
    if (!first)
      first = begin;
  }
  return firsts;
}
