//===- Layout.h - Who holds which box of which tensor -----------*- C++ -*-===//

#ifndef ETC_LAYOUT_LAYOUT_H
#define ETC_LAYOUT_LAYOUT_H

#include "etc/Geometry.h"
#include "etc/Model/Model.h"
#include "etc/Request/Request.h"

#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace etc::layout {

/// What a rank holds of one tensor, or a box of it: a flat span is several
/// boxes in a row, in the order in which they lie in memory.
struct HeldBox {
  unsigned tensor = 0; ///< index in model.tensors
  int64_t layer = -1;  ///< global; -1 for a tensor that is not of a layer
  Box box;             ///< in the padded shape of its side
  int64_t expert = -1; ///< global; -1 for a tensor that is not of an expert

  bool operator==(const HeldBox &) const = default;
};

/// What a rank is, apart from its replica: stage p and slot t, its number in
/// the stage modulo Parallelism::slots() (without experts, the tensor-parallel
/// rank). All replicas of a role hold the same, but for flat spans and shards
/// of rows: these depend on the replica d as well.
struct Role {
  int64_t p = 0;
  int64_t t = 0;
  int64_t d = 0;

  bool operator==(const Role &) const = default;
};

/// A virtual rank: a role and its replica.
struct VirtualRank {
  Role role;
  int64_t d = 0;

  bool operator==(const VirtualRank &) const = default;
};

/// The number of a virtual rank. In a stage, i = t + slots * d counts the ranks
/// tensor-parallel ones first: i = tp rank + TP * (cp rank + CP * dp rank), and
/// of the grid of experts i = etp rank + ETP * (ep rank + EP * edp rank).
int64_t rankOf(const request::Parallelism &parallel, VirtualRank rank);
/// The inverse of rankOf. The role has a `d` only with the distributed
/// optimizer or FSDP; without them the replicas of a role are alike.
VirtualRank virtualRank(const request::Parallelism &parallel, int64_t rank);

/// The layers of chunk k of a stage; they may be none.
Span layersOfChunk(int64_t layers, const request::Parallelism &parallel,
                   int64_t p, int64_t k);
/// The layers of a stage, a span for every chunk that has any.
std::vector<Span> layersOf(int64_t layers, const request::Parallelism &parallel,
                           int64_t p);

/// Whether a stage holds a block; for Block::Layer, always. In a model with
/// multi-token prediction the final norm is behind the last layer, even where
/// later stages have none.
bool stageHolds(const model::Model &model, model::Block block,
                const request::Parallelism &parallel, int64_t p);

/// The same for chunk k of a stage.
bool chunkHolds(const model::Model &model, model::Block block,
                const request::Parallelism &parallel, int64_t p, int64_t k);

/// The box of a tensor that slot t of a stage would hold without the
/// distributed optimizer (on the stages that hold the tensor at all).
Box boxOf(const model::TensorTemplate &tensor,
          const request::Parallelism &parallel, int64_t t);

/// The boxes of a tensor that a role with FSDP holds: of the box of its slot,
/// what torch.chunk of the rows that the trainer sees gives the role's shard.
/// The last shards may be smaller than the first, or empty.
llvm::SmallVector<Box> rowShard(const model::TensorTemplate &tensor,
                                const request::Parallelism &parallel,
                                Role role);

/// The boxes that a span of the row-major elements of a box makes, in order: at
/// most twice its axes, less one.
llvm::SmallVector<Box> flatBoxes(const Box &box, Span flat);

/// A tensor as a stage has it: of one layer and one expert, where it has them.
struct Instance {
  unsigned tensor = 0;
  int64_t layer = -1;
  int64_t expert = -1;
};

/// The tensors of chunk k of stage p that slot t has a part of, in Megatron's
/// module order.
std::vector<Instance> instancesOf(const model::Model &model,
                                  const request::Parallelism &parallel,
                                  int64_t p, int64_t k, int64_t t);

/// A tensor's flat span in what a rank optimizes: it counts the elements of the
/// box that its slot holds, and may be empty.
struct FlatSpan {
  Instance instance;
  Span span;
};

/// What the distributed optimizer gives a role of chunk k, by Megatron's rules:
/// a buffer of all flat tensors in reverse module order, each at a multiple of
/// 64 elements, and apart from it a buffer of the experts if there is expert
/// parallelism; tied copies of the embedding in buckets of their own; the end
/// of a bucket at a multiple of lcm(dp, 128); an equal part of every bucket for
/// each rank. In module order.
std::vector<FlatSpan> flatSpans(const model::Model &model,
                                const request::Parallelism &parallel, Role role,
                                int64_t k);

/// All that a role holds: chunk by chunk, in module order. For several roles
/// that differ in their replica, see PoolHoldings.h.
std::vector<HeldBox> holdings(const model::Model &model,
                              const request::Parallelism &parallel, Role role);

/// The bytes of the boxes in the types that their tensors are laid out for.
int64_t bytesOf(llvm::ArrayRef<HeldBox> held, const model::Model &model);

/// The tensors of the previous side that have the content of a current tensor:
/// the one of its own name, then those that are tied to it or to the same
/// primary; of these the ones that prev has.
std::vector<unsigned> sourceTensors(const model::Model &model,
                                    const request::Parallelism &prev,
                                    unsigned tensor);

/// The bytes, in all types, of curr's role that a device which holds prev's
/// role has already: every current box against those of its sourceTensors.
int64_t overlapBytes(const model::Model &model,
                     const request::Parallelism &prev, Role prevRole,
                     const request::Parallelism &curr, Role currRole);

} // namespace etc::layout

#endif // ETC_LAYOUT_LAYOUT_H
