//===- Layout.h - Who holds which box of which tensor -----------*- C++ -*-===//

#ifndef ETC_LAYOUT_LAYOUT_H
#define ETC_LAYOUT_LAYOUT_H

#include "etc/Model/Model.h"
#include "etc/Request/Request.h"

#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace etc::layout {

/// A half-open interval.
struct Range {
  int64_t begin = 0;
  int64_t end = 0;

  int64_t size() const { return end > begin ? end - begin : 0; }
  bool operator==(const Range &) const = default;
};

/// The part that two intervals share; its size is 0 where they share none.
Range intersect(Range a, Range b);

/// Half-open ranges in a tensor's planning shape, one per axis.
using Box = llvm::SmallVector<Range, 2>;

/// The number of elements of a box.
int64_t volume(const Box &box);
/// The number of elements that two boxes of the same rank share.
int64_t sharedVolume(const Box &a, const Box &b);

/// What a rank holds of one tensor, or a box of it: a flat range is several
/// pieces in a row, in the order in which they lie in memory.
struct Piece {
  unsigned tensor = 0; ///< index in model.tensors
  int64_t layer = -1;  ///< global; -1 for a tensor that is not of a layer
  Box box;             ///< in the padded shape of its side
  int64_t expert = -1; ///< global; -1 for a tensor that is not of an expert

  bool operator==(const Piece &) const = default;
};

/// What a rank is, apart from its replica: stage p and slot t, its number in
/// the stage modulo Parallelism::slots() (without experts, the tensor-parallel
/// rank). All replicas of a role hold the same, but for flat ranges and shards
/// of rows: these depend on the replica d as well.
struct Role {
  int64_t p = 0;
  int64_t t = 0;
  int64_t d = 0;

  bool operator==(const Role &) const = default;
};

/// A virtual rank: a role and its replica.
struct Place {
  Role role;
  int64_t d = 0;

  bool operator==(const Place &) const = default;
};

/// The number of a place's rank. In a stage, i = t + slots * d counts the ranks
/// tensor-parallel ones first: i = tp rank + TP * (cp rank + CP * dp rank), and
/// of the grid of experts i = etp rank + ETP * (ep rank + EP * edp rank).
int64_t rankOf(const request::Parallelism &parallel, Place place);
/// The inverse of rankOf. The role has a `d` only with the distributed
/// optimizer or FSDP; without them the replicas of a role are alike.
Place placeOf(const request::Parallelism &parallel, int64_t rank);

/// The layers of chunk k of a stage; they may be none.
Range layersOfChunk(int64_t layers, const request::Parallelism &parallel,
                    int64_t p, int64_t k);
/// The layers of a stage, a range for every chunk that has any.
std::vector<Range> layersOf(int64_t layers,
                            const request::Parallelism &parallel, int64_t p);

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

/// The boxes that a range of the row-major elements of a box makes, in order:
/// at most twice its axes, less one.
llvm::SmallVector<Box> flatBoxes(const Box &box, Range range);

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

/// A tensor's flat range in what a rank optimizes: `range` counts the elements
/// of the box that its slot holds. It may be empty.
struct FlatPiece {
  Instance instance;
  Range range;
};

/// What the distributed optimizer gives a role of chunk k, by Megatron's rules:
/// a buffer of all flat tensors in reverse module order, each at a multiple of
/// 64 elements, and apart from it a buffer of the experts if there is expert
/// parallelism; tied copies of the embedding in buckets of their own; the end
/// of a bucket at a multiple of lcm(dp, 128); an equal part of every bucket for
/// each rank. In module order.
std::vector<FlatPiece> flatPieces(const model::Model &model,
                                  const request::Parallelism &parallel,
                                  Role role, int64_t k);

/// All that a role holds: chunk by chunk, in module order.
std::vector<Piece> holdings(const model::Model &model,
                            const request::Parallelism &parallel, Role role);

/// The bytes of the pieces in the types that their tensors are laid out for.
int64_t bytesOf(llvm::ArrayRef<Piece> pieces, const model::Model &model);

/// The tensor of the previous side that a current tensor is filled from: the
/// one of its own name; the primary it is tied to only if prev has none of its
/// own name; none if prev has neither.
std::optional<unsigned> sourceTensor(const model::Model &model,
                                     const request::Parallelism &prev,
                                     unsigned tensor);

/// The bytes, in all types, of curr's role that a device which holds prev's
/// role has already: every current piece against its sourceTensor's.
int64_t overlapBytes(const model::Model &model,
                     const request::Parallelism &prev, Role prevRole,
                     const request::Parallelism &curr, Role currRole);

} // namespace etc::layout

#endif // ETC_LAYOUT_LAYOUT_H
