//===- FlatRanges.cpp - What the distributed optimizer cuts ---------------===//

#include "etc/Analysis/FlatRanges.h"

#include "ModuleOrder.h"
#include "etc/Analysis/FlatBoxes.h"

#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace etc;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {
/// A parameter, and where it lies in its bucket.
struct Parameter {
  FlatShard shard;
  int64_t begin;
};

/// Parameters that are cut into ranges together.
struct Bucket {
  SmallVector<Parameter, 0> parameters;
  int64_t end = 0;

  void add(const FlatShard &shard) {
    int64_t begin = llvm::alignTo(end, 64);
    parameters.push_back({shard, begin});
    end = begin + shard.piece.size();
  }
};

/// Lays out the buffers of one pool.
class Buffers {
public:
  Buffers(MigrationOp migration, const TensorTable &table, Side side,
          RoleAttr pool)
      : table(table), parallel(migration.getParallel(side)), role(pool),
        order(migration, table, side, pool), ranges(parallel.getReplicas()) {}

  ReplicaRanges takeRanges();

private:
  bool isSharedCopy(unsigned tensor) const;
  void takeBuffer(ArrayRef<FlatShard> shards, bool ofExperts,
                  int64_t bucketSize);
  void takeBucket(const Bucket &bucket, bool ofExperts);

  const TensorTable &table;
  ParallelAttr parallel;
  RoleAttr role; ///< without replica
  ModuleOrder order;
  ReplicaRanges ranges;
};
} // namespace

/// A copy of the embedding, or the embedding itself, that stages share. Where a
/// stage embeds further tokens, the output layer is not counted among these.
bool Buffers::isSharedCopy(unsigned tensor) const {
  if (parallel.getPp() == 1 || table.getPart(tensor) == Part::Layer)
    return false;
  bool isShared = false, embedsMore = false;
  for (unsigned other = 0; other < table.size(); ++other) {
    bool isCopy = table.getPrimary(other).has_value();
    isShared |=
        isCopy && (other == tensor || table.getPrimary(other) == tensor);
    embedsMore |= isCopy && table.getPart(other) == Part::Mtp &&
                  TensorOp(table[other]).isOn(parallel);
  }
  bool isOutput =
      table.getPrimary(tensor) && table.getPart(tensor) == Part::Head;
  return isShared && !(isOutput && embedsMore);
}

/// The range that every replica has of a bucket.
void Buffers::takeBucket(const Bucket &bucket, bool ofExperts) {
  int64_t group =
      ofExperts ? parallel.getEtp() * parallel.getEp() : parallel.getTp();
  int64_t ranks = parallel.getStageWorld() / group;
  int64_t size =
      llvm::alignTo(bucket.end, std::lcm(ranks, int64_t(128))) / ranks;
  for (auto [replica, pieces] : llvm::enumerate(ranges)) {
    int64_t number = role.getSlot() + parallel.getSlots() * replica,
            begin = number / group * size;
    // The last parameter that begins at or before the range.
    auto first = llvm::upper_bound(bucket.parameters, begin,
                                   [](int64_t at, const Parameter &parameter) {
                                     return at < parameter.begin;
                                   });
    if (first != bucket.parameters.begin())
      --first;
    for (; first != bucket.parameters.end() && first->begin < begin + size;
         ++first) {
      auto [piece, tensors] = first->shard;
      for (unsigned i = 0; i < tensors; ++i, ++piece.tensor)
        appendFlatBoxes(piece, std::max<int64_t>(0, begin - first->begin),
                        std::min(piece.size(), begin + size - first->begin),
                        pieces);
    }
  }
}

/// A bucket closes at `bucketSize` elements, never if that is zero.
void Buffers::takeBuffer(ArrayRef<FlatShard> shards, bool ofExperts,
                         int64_t bucketSize) {
  Bucket bucket;
  auto close = [&] {
    takeBucket(bucket, ofExperts);
    bucket = {};
  };
  for (const FlatShard &shard : llvm::reverse(shards)) {
    // Without expert parallelism, experts are like any other parameters.
    unsigned tensor = shard.piece.tensor;
    bool isApart = table.isOfExpert(tensor) && parallel.getEp() > 1;
    if (isApart != ofExperts)
      continue;
    bool isAlone = isSharedCopy(tensor);
    if (isAlone)
      close();
    bucket.add(shard);
    if (isAlone || (bucketSize && bucket.end >= bucketSize))
      close();
  }
  close();
}

ReplicaRanges Buffers::takeRanges() {
  for (int64_t k = 0; k < parallel.getVpp(); ++k) {
    int64_t chunk = k * parallel.getPp() + role.getStage();
    ArrayRef<FlatShard> shards = order.list(chunk);
    for (bool ofExperts : {false, true})
      takeBuffer(shards, ofExperts, chunk == 0 ? parallel.getBucketSize() : 0);
  }
  return std::move(ranges);
}

ReplicaRanges etc::flatRanges(MigrationOp migration, const TensorTable &table,
                              Side side, RoleAttr pool) {
  return Buffers(migration, table, side, pool).takeRanges();
}
