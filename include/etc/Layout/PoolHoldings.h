//===- PoolHoldings.h - What the replicas of a role hold --------*- C++ -*-===//

#ifndef ETC_LAYOUT_POOLHOLDINGS_H
#define ETC_LAYOUT_POOLHOLDINGS_H

#include "etc/Layout/FlatBuffers.h"

namespace etc::layout {

/// What the roles of one stage and slot hold. What depends on the replica is
/// found without a look at the rest, which is worked out once.
class PoolHoldings {
public:
  /// Of a model and a parallelism that outlive it.
  PoolHoldings(const model::Model &model, const request::Parallelism &parallel,
               int64_t p, int64_t t);

  /// What all replicas hold alike, in module order.
  std::vector<HeldBox> getShared() const;
  /// What depends on the replica: flat spans, and shards of rows; in module
  /// order.
  std::vector<HeldBox> getOwn(int64_t d) const;
  /// Both, in module order.
  std::vector<HeldBox> getAll(int64_t d) const;

private:
  /// A box, and the number of its tensor in module order.
  struct Numbered {
    size_t number;
    HeldBox held;
  };
  /// What a chunk has in the buffers of the distributed optimizer.
  struct Chunk {
    FlatBuffers buffers;
    std::vector<Numbered> whole; ///< of each of the buffers' tensors
  };
  void addChunk(int64_t k);
  std::vector<Numbered> findOwn(int64_t d) const;

  const model::Model &model;
  const request::Parallelism &parallel;
  const int64_t p, t;
  size_t next = 0; ///< number of a tensor
  std::vector<Numbered> shared, rows;
  std::vector<Chunk> chunks;
};

} // namespace etc::layout

#endif // ETC_LAYOUT_POOLHOLDINGS_H
