#include "journal/Holdings.h"

#include <algorithm>
#include <map>

using namespace etc::runtime;
using etc::plan::Box;
using etc::plan::Holding;
using etc::plan::fb::Op;
using etc::plan::fb::OpKind;

std::string etc::runtime::memoryName(Side side, uint32_t tensor) {
  return text(side == Side::Prev ? "prev-" : "curr-", tensor);
}

std::string etc::runtime::memoryName(const Piece &piece) {
  return memoryName(piece.isBound ? Side::Prev : piece.side, piece.tensor);
}

bool etc::runtime::isReleased(const PlanIndex &index, uint32_t program,
                              uint32_t tensor, uint32_t rounds) {
  const auto &list = *index.program(program).rounds();
  for (uint32_t r = 0; r != std::min<uint32_t>(rounds, list.size()); ++r)
    for (const Op *op : *list.Get(r)->ops())
      if (op->kind() == OpKind::release && op->tensor() == tensor)
        return true;
  return false;
}

static std::vector<int64_t> boundsOf(Box box) {
  return {box.bounds().begin(), box.bounds().end()};
}

namespace {

/// Pieces of one device, by side and tensor.
class PieceCollector {
public:
  PieceCollector(const PlanIndex &index, uint32_t program,
                 const Standing &standing)
      : index(index), program(program), standing(standing) {}

  std::vector<Piece> collect() {
    const uint32_t rounds = index.program(program).rounds()->size();
    const bool isNew = standing.isCommitted || standing.isDecided;
    if (!standing.isRolledBack)
      for (uint32_t r = 0;
           r != (isNew ? rounds : std::min(standing.landed, rounds)); ++r)
        for (const Op *op : *index.program(program).rounds()->Get(r)->ops())
          land(*op);
    std::vector<Piece> pieces;
    if (standing.isFilled && !isNew)
      addPrevious(pieces);
    for (auto &[tensor, piece] : current) {
      simplify(piece);
      pieces.push_back(std::move(piece));
    }
    return pieces;
  }

private:
  void land(const Op &op) {
    if (op.kind() == OpKind::send || op.kind() == OpKind::release)
      return;
    auto [entry, isNew] = current.try_emplace(op.tensor());
    Piece &piece = entry->second;
    if (isNew) {
      size_t position = *index.find(program, Side::Curr, op.tensor());
      piece.side = Side::Curr;
      piece.tensor = op.tensor();
      piece.shard = index.holdings(program, Side::Curr)[position].shard;
    }
    if (piece.isBound)
      return;
    if (!index.bindsMemory(program, op)) {
      piece.boxes.push_back(boundsOf(index.opBox(op)));
      return;
    }
    // All of it is there, also what later rounds refer to.
    piece.isBound = true;
    for (uint32_t b = 0; b != index.boxCount(piece.shard); ++b)
      piece.boxes.push_back(boundsOf(index.shardBox(piece.shard, b)));
  }

  /// A safe run releases nothing before it commits.
  void addPrevious(std::vector<Piece> &pieces) const {
    for (Holding holding : index.holdings(program, Side::Prev)) {
      auto bound = current.find(holding.tensor);
      if (isReleased(index, program, holding.tensor, standing.released) ||
          (bound != current.end() && bound->second.isBound))
        continue;
      Piece piece{Side::Prev, holding.tensor, holding.shard, false, {}};
      for (uint32_t b = 0; b != index.boxCount(holding.shard); ++b)
        piece.boxes.push_back(boundsOf(index.shardBox(holding.shard, b)));
      pieces.push_back(std::move(piece));
    }
  }

  /// A shard that is complete is its own boxes, not those it came in.
  void simplify(Piece &piece) const {
    uint64_t landed = 0, whole = 0;
    for (const auto &bounds : piece.boxes)
      landed += Box(bounds).volume();
    std::vector<std::vector<int64_t>> boxes;
    for (uint32_t b = 0; b != index.boxCount(piece.shard); ++b) {
      boxes.push_back(boundsOf(index.shardBox(piece.shard, b)));
      whole += index.shardBox(piece.shard, b).volume();
    }
    if (landed == whole)
      piece.boxes = std::move(boxes);
  }

  const PlanIndex &index;
  const uint32_t program;
  const Standing &standing;
  std::map<uint32_t, Piece> current;
};

} // namespace

std::vector<Piece> etc::runtime::piecesOf(const PlanIndex &index,
                                          uint32_t program,
                                          const Standing &standing) {
  return PieceCollector(index, program, standing).collect();
}
