//===- Layout.h - Who holds which box of which tensor -----------*- C++ -*-===//

#ifndef ETC_LAYOUT_LAYOUT_H
#define ETC_LAYOUT_LAYOUT_H

#include "etc/Config/Request.h"
#include "etc/Model/Model.h"

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
/// rank). All replicas of a role hold the same, but for flat ranges: these
/// depend on the replica d as well.
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

/// Megatron's order (tp-dp-pp, the first varies fastest): t + TP * (d + DP *
/// p).
int64_t rankOf(const config::Parallelism &parallel, Place place);
/// The inverse of rankOf.
Place placeOf(const config::Parallelism &parallel, int64_t rank);

/// The layers of a stage: even and contiguous. `layers` must divide by pp.
Range layersOf(int64_t layers, const config::Parallelism &parallel, int64_t p);

/// Whether a stage holds a block; for Block::Layer, always.
bool stageHolds(model::Block block, const config::Parallelism &parallel,
                int64_t p);

/// The box of a tensor that tensor-parallel rank t holds (on the stages that
/// hold the tensor at all).
Box boxOf(const model::TensorTemplate &tensor,
          const config::Parallelism &parallel, int64_t t);

/// All that a role holds: by layer, in the order of model.tensors within one.
std::vector<Piece> holdings(const model::Model &model,
                            const config::Parallelism &parallel, Role role);

/// The bytes of the pieces in all types of the model.
int64_t bytesOf(llvm::ArrayRef<Piece> pieces, const model::Model &model);

/// The tensor of the previous side that a current tensor is filled from: the
/// one of its own name; the primary it is tied to only if prev has none of its
/// own name; none if prev has neither.
std::optional<unsigned> sourceTensor(const model::Model &model,
                                     const config::Parallelism &prev,
                                     unsigned tensor);

/// The bytes, in all types, of curr's role that a device which holds prev's
/// role has already: every current piece against its sourceTensor's.
int64_t overlapBytes(const model::Model &model, const config::Parallelism &prev,
                     Role prevRole, const config::Parallelism &curr,
                     Role currRole);

/// overlapBytes for all pairs of roles of two sides, in O(1) a pair: bytes are
/// a sum over blocks of (what the stages share) x (what the slices share).
class OverlapTable {
public:
  OverlapTable(const model::Model &model, const config::Parallelism &prev,
               const config::Parallelism &curr);

  int64_t bytes(Role prevRole, Role currRole) const;

private:
  /// The bytes of one current block that slices t of prev and curr share, when
  /// the previous stage holds the source's block `from`.
  struct Term {
    model::Block from, to;
    std::vector<int64_t> shared; ///< [prev t * curr tp + curr t]
  };
  Term &termFor(model::Block from, model::Block to);

  int64_t layers;
  config::Parallelism prev, curr;
  std::vector<Term> terms;
};

} // namespace etc::layout

#endif // ETC_LAYOUT_LAYOUT_H
