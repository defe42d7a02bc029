// R2: every op names a source that it may read and boxes of shards that the
// program holds.

#include "core/plan/RefereeRules.h"

using namespace etc;
using namespace etc::plan;

namespace {

class PlaceChecker {
public:
  PlaceChecker(const PlanIndex &index, uint32_t program)
      : index(index), program(program) {}

  Status check(const fb::Op &op) const {
    if (Status s = checkSource(op); !s.ok())
      return s;
    switch (op.kind()) {
    case fb::OpKind::send:
      return checkBox(op, op.source(), sourceSide(op));
    case fb::OpKind::recv:
      if (index.tensor(op.tensor()).is_derived())
        return malformed("receives ", index.describeTensor(op.tensor()),
                         ", which is derived");
      return checkBox(op, op.tensor(), targetSide(op));
    case fb::OpKind::refer:
      if (Status s = checkBox(op, op.source(), Side::Prev); !s.ok())
        return s;
      return checkBox(op, op.tensor(), Side::Curr);
    case fb::OpKind::zero:
      if (Status s = checkNew(op); !s.ok())
        return s;
      return checkBox(op, op.tensor(), Side::Curr);
    case fb::OpKind::derive:
      if (Status s = checkBox(op, op.source(), Side::Curr); !s.ok())
        return s;
      return checkBox(op, op.tensor(), Side::Curr);
    case fb::OpKind::release:
      return checkHeld(op.tensor(), releasedSide(op));
    }
    return Status::success();
  }

private:
  /// Equal tensors or twins, whose elements are equal; a derive reads what its
  /// tensor is cast from.
  Status checkSource(const fb::Op &op) const {
    if (op.source() == op.tensor() && op.kind() != fb::OpKind::derive)
      return Status::success();
    auto name = [&] { return index.describeTensor(op.source()); };
    if (op.kind() == fb::OpKind::derive) {
      if (index.tensor(op.tensor()).derived_from() ==
          static_cast<int64_t>(op.source()))
        return Status::success();
      return malformed("source ", name(), " is not what ",
                       index.describeTensor(op.tensor()), " is derived from");
    }
    if (op.kind() == fb::OpKind::zero || op.kind() == fb::OpKind::release)
      return malformed("source ", name(), " is not ",
                       index.describeTensor(op.tensor()), ", the op's tensor");
    if (index.primary(op.source()) == index.primary(op.tensor()))
      return Status::success();
    return malformed("source ", name(), " is not tied to ",
                     index.describeTensor(op.tensor()));
  }

  Status checkHeld(uint32_t tensor, Side side) const {
    return index.find(program, side, tensor) ? Status::success()
                                             : failHeld(tensor, side);
  }
  Status failHeld(uint32_t tensor, Side side) const {
    return malformed("the program holds no ", sideName(side), " shard of ",
                     index.describeTensor(tensor));
  }

  Status checkBox(const fb::Op &op, uint32_t tensor, Side side) const {
    const std::optional<size_t> position = index.find(program, side, tensor);
    if (!position)
      return failHeld(tensor, side);
    uint32_t shard = index.holdings(program, side)[*position].shard;
    if (index.boxAround(shard, index.opBox(op)))
      return Status::success();
    return malformed(describe(index.opBox(op)),
                     " is not within one box of the ", sideName(side),
                     " shard of ", index.describeTensor(tensor));
  }

  /// A zero fills only what the previous shape does not have.
  Status checkNew(const fb::Op &op) const {
    BoxView box = index.opBox(op);
    if (const auto *prev = index.tensor(op.tensor()).prev_shape())
      for (unsigned axis = 0; axis != box.rank(); ++axis)
        if (box[axis].begin >= prev->Get(axis))
          return Status::success();
    return malformed("zeroes ", describe(box), " of ",
                     index.describeTensor(op.tensor()),
                     ", which has previous elements");
  }

  const PlanIndex &index;
  const uint32_t program;
};

} // namespace

Status etc::plan::checkPlaces(const PlanIndex &index, uint32_t program) {
  PlaceChecker checker(index, program);
  for (uint32_t r = 0; r != roundsOf(index, program); ++r) {
    const auto &ops = opsOf(index, program, r);
    for (uint32_t o = 0; o != ops.size(); ++o)
      if (Status s = checker.check(*ops.Get(o)); !s.ok())
        return s.at(opPath(program, r, o));
  }
  return Status::success();
}
