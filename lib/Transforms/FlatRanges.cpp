//===- FlatRanges.cpp - What the distributed optimizer cuts ---------------===//

#include "FlatRanges.h"

#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace etc;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {
/// A parameter as a rank holds it, and where it lies in its bucket.
struct Parameter {
  Piece shard;
  int64_t begin;
};

/// Parameters that are cut into ranges together.
struct Bucket {
  SmallVector<Parameter> parameters;
  int64_t end = 0;

  void add(const Piece &shard) {
    int64_t begin = llvm::alignTo(end, 64);
    parameters.push_back({shard, begin});
    end = begin + shard.size();
  }
};

/// Lays out the buffers of one role.
class Buffers {
public:
  Buffers(MigrationOp migration, const TensorTable &table, Side side,
          RoleAttr role)
      : migration(migration), table(table), side(side),
        parallel(migration.getParallel(side)), role(role) {}

  SmallVector<Piece> takeRanges();

private:
  SmallVector<Piece> shardsOf(int64_t chunk, bool ofExperts) const;
  void addShard(unsigned tensor, int64_t layer, bool ofExperts,
                SmallVector<Piece> &shards) const;
  bool hasOwnBucket(unsigned tensor) const;
  void takeBuffer(ArrayRef<Piece> shards, bool ofExperts,
                  SmallVector<Piece> &pieces) const;
  void takeBucket(const Bucket &bucket, bool ofExperts,
                  SmallVector<Piece> &pieces) const;

  mutable MigrationOp migration;
  const TensorTable &table;
  Side side;
  ParallelAttr parallel;
  RoleAttr role;
};
} // namespace

void Buffers::addShard(unsigned tensor, int64_t layer, bool ofExperts,
                       SmallVector<Piece> &shards) const {
  int64_t tp = ofExperts ? parallel.getEtp() : parallel.getTp();
  int64_t first = 0, count = 1;
  if (ofExperts) {
    count = table.getExperts() / parallel.getEp();
    first = role.getSlot() / parallel.getEtp() % parallel.getEp() * count;
  }
  for (int64_t expert = first; expert < first + count; ++expert) {
    Piece shard = table.getWhole(tensor, layer, expert, side);
    if (table.isSplit(tensor)) {
      int64_t share = shard.cut.size() / tp, rank = role.getSlot() % tp;
      shard.cut = {share * rank, share * (rank + 1)};
    }
    shards.push_back(shard);
  }
}

/// The flat tensors of a model chunk, in module order: embeddings, layer after
/// layer, and what follows the layers.
SmallVector<Piece> Buffers::shardsOf(int64_t chunk, bool ofExperts) const {
  SmallVector<Piece> shards;
  int64_t chunks = parallel.getPp() * parallel.getVpp();
  auto addPart = [&](Part part, int64_t layer) {
    for (unsigned tensor = 0; tensor < table.size(); ++tensor) {
      TensorOp op = table[tensor];
      if (op.getFlat() && op.getPart() == part && op.isOn(parallel) &&
          table.isOfExpert(tensor) == ofExperts &&
          table.isInLayer(tensor, layer))
        addShard(tensor, layer, ofExperts, shards);
    }
  };
  if (chunk == 0)
    addPart(Part::Embed, 0);
  auto [begin, end] = migration.getChunk(side, chunk);
  for (int64_t layer = begin; layer < end; ++layer)
    addPart(Part::Layer, layer);
  if (chunk == chunks - 1)
    for (Part part : {Part::Final, Part::Head, Part::Mtp})
      addPart(part, 0);
  return shards;
}

/// Both ends of a tie that spans stages are reduced by themselves.
bool Buffers::hasOwnBucket(unsigned tensor) const {
  if (parallel.getPp() == 1)
    return false;
  for (unsigned other = 0; other < table.size(); ++other)
    if (other == tensor ? table.getTwin(tensor).has_value()
                        : table.getTwin(other) == tensor)
      return true;
  return false;
}

/// Appends the boxes of elements [begin, end) of a shard, counted row by row:
/// a part of a row, whole rows, a part of a row, on each axis.
static void appendFlat(const Piece &shard, int64_t begin, int64_t end,
                       SmallVector<Piece> &pieces) {
  if (begin >= end)
    return;
  Piece box = shard;
  auto appendRows = [&](Piece rows, int64_t from, int64_t to) {
    // Elements [from, to) of one outer position.
    int64_t width = rows.inner.size();
    auto add = [&](int64_t first, int64_t last, int64_t left, int64_t right) {
      if (first >= last || left >= right)
        return;
      Piece part = rows;
      part.cut = {shard.cut.begin + first, shard.cut.begin + last};
      part.inner = {shard.inner.begin + left, shard.inner.begin + right};
      pieces.push_back(part);
    };
    int64_t top = from / width, bottom = to / width;
    if (top == bottom)
      return add(top, top + 1, from % width, to % width);
    if (from % width)
      add(top, top + 1, from % width, width);
    add(llvm::divideCeil(from, width), bottom, 0, width);
    add(bottom, bottom + 1, 0, to % width);
  };
  int64_t plane = shard.cut.size() * shard.inner.size();
  int64_t front = begin / plane, back = end / plane;
  auto slab = [&](int64_t first, int64_t last) {
    box.outer = {shard.outer.begin + first, shard.outer.begin + last};
    return box;
  };
  if (front == back)
    return appendRows(slab(front, front + 1), begin % plane, end % plane);
  if (begin % plane)
    appendRows(slab(front, front + 1), begin % plane, plane);
  if (int64_t first = llvm::divideCeil(begin, plane); first < back)
    pieces.push_back(slab(first, back));
  if (end % plane)
    appendRows(slab(back, back + 1), 0, end % plane);
}

/// This rank's range of a bucket.
void Buffers::takeBucket(const Bucket &bucket, bool ofExperts,
                         SmallVector<Piece> &pieces) const {
  int64_t group =
      ofExperts ? parallel.getEtp() * parallel.getEp() : parallel.getTp();
  int64_t ranks = parallel.getStageWorld() / group,
          number = role.getSlot() + parallel.getSlots() * role.getReplica();
  int64_t size =
      llvm::alignTo(bucket.end, std::lcm(ranks, int64_t(128))) / ranks;
  int64_t begin = number / group * size;
  for (const Parameter &parameter : bucket.parameters)
    appendFlat(parameter.shard, std::max<int64_t>(0, begin - parameter.begin),
               std::min(parameter.shard.size(), begin + size - parameter.begin),
               pieces);
}

void Buffers::takeBuffer(ArrayRef<Piece> shards, bool ofExperts,
                         SmallVector<Piece> &pieces) const {
  Bucket bucket;
  for (const Piece &shard : llvm::reverse(shards)) {
    bool isAlone = hasOwnBucket(shard.tensor);
    if (isAlone && !bucket.parameters.empty()) {
      takeBucket(bucket, ofExperts, pieces);
      bucket = {};
    }
    bucket.add(shard);
    if (isAlone) {
      takeBucket(bucket, ofExperts, pieces);
      bucket = {};
    }
  }
  takeBucket(bucket, ofExperts, pieces);
}

SmallVector<Piece> Buffers::takeRanges() {
  SmallVector<Piece> pieces;
  for (int64_t chunk = 0; chunk < parallel.getVpp(); ++chunk)
    for (bool ofExperts : {false, true})
      takeBuffer(
          shardsOf(chunk * parallel.getPp() + role.getStage(), ofExperts),
          ofExperts, pieces);
  return pieces;
}

SmallVector<Piece> etc::flatRanges(MigrationOp migration,
                                   const TensorTable &table, Side side,
                                   RoleAttr role) {
  return Buffers(migration, table, side, role).takeRanges();
}
