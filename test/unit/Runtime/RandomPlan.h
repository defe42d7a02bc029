// Random tables of plans, for what writes and reads them.

#ifndef ETC_TEST_RANDOMPLAN_H
#define ETC_TEST_RANDOMPLAN_H

#include "PlanFixture.h"

#include "core/plan/CondensedOrder.h"

#include <algorithm>
#include <random>

namespace etc::plan::test {

/// Tables without regard to the plan's rules.
class RandomPlan {
public:
  explicit RandomPlan(unsigned seed) : random(seed) {}

  fb::PlanT make();

private:
  /// What programs do with a box over some rounds.
  struct Piece {
    fb::Op op; // its box is not used
    Box box;
    std::vector<uint32_t> rounds;
  };

  int64_t pick(int64_t first, int64_t last) {
    return std::uniform_int_distribution<int64_t>(first, last)(random);
  }
  bool flip() { return pick(0, 1) == 1; }
  uint32_t pickTensor() { return pick(0, plan().tensors.size() - 1); }
  fb::PlanT &plan() { return builder.plan; }

  void addTensors();
  void addShards(std::vector<uint32_t> &shards);
  Box pickBox(uint32_t tensor);
  Piece pickPiece();
  void addPiece(const Piece &piece, fb::ProgramT &program);
  void addProgram();

  std::mt19937 random;
  PlanBuilder builder;
  std::vector<Piece> shared;
};

/// Runs of equal shapes, as layers have them.
inline void RandomPlan::addTensors() {
  for (int64_t shape = pick(1, 3); shape; --shape) {
    std::vector<int64_t> extents(pick(1, 3));
    for (int64_t &extent : extents)
      extent = pick(1, 12);
    for (int64_t count = pick(1, 5); count; --count) {
      const uint32_t tensor =
          builder.tensor(text("w", plan().tensors.size()).c_str(), "param",
                         fb::DType::bf16, extents);
      plan().tensors[tensor]->deferred = flip();
    }
  }
}

inline void RandomPlan::addShards(std::vector<uint32_t> &shards) {
  for (uint32_t shard = 0; shard != plan().shards.size(); ++shard)
    if (flip())
      shards.push_back(shard);
  if (pick(0, 5) == 0)
    std::shuffle(shards.begin(), shards.end(), random);
}

inline Box RandomPlan::pickBox(uint32_t tensor) {
  const std::vector<int64_t> &shape = plan().tensors[tensor]->shape;
  std::vector<int64_t> bounds;
  for (int64_t extent : shape) {
    const int64_t begin = pick(0, extent - 1);
    bounds.insert(bounds.end(), {begin, pick(begin + 1, extent)});
  }
  return Box(BoxView::ofBounds(bounds.data(), shape.size()));
}

inline RandomPlan::Piece RandomPlan::pickPiece() {
  const uint32_t tensor = pickTensor();
  const auto kind =
      static_cast<fb::OpKind>(pick(0, static_cast<int64_t>(fb::OpKind::MAX)));
  Piece piece{{kind, flip(), flip(), static_cast<uint32_t>(pick(0, 2)), tensor,
               flip() ? tensor : pickTensor(), 0},
              pickBox(tensor),
              {}};
  const int64_t most = plan().forecast.size();
  const int64_t parts =
      kind == fb::OpKind::release || flip() ? 1 : pick(1, most);
  for (uint32_t round = pick(0, most - parts);
       piece.rounds.size() != static_cast<size_t>(parts); ++round)
    piece.rounds.push_back(round);
  return piece;
}

/// Mostly cut by the rule.
inline void RandomPlan::addPiece(const Piece &piece, fb::ProgramT &program) {
  const auto parts = static_cast<uint32_t>(piece.rounds.size());
  const unsigned axis = pick(0, 7) == 0 ? 0 : cutAxis(piece.box, parts);
  for (uint32_t i = 0; i != parts; ++i) {
    Box box = piece.box;
    if (parts > 1)
      box[axis] = partOf(box[axis], i, parts);
    if (box[axis].begin == box[axis].end)
      continue;
    fb::Op op = piece.op;
    if (op.kind() != fb::OpKind::release) {
      op.mutate_box(plan().bounds.size());
      for (Span span : box)
        plan().bounds.insert(plan().bounds.end(), {span.begin, span.end});
    }
    program.rounds[piece.rounds[i]]->ops.push_back(op);
  }
}

inline void RandomPlan::addProgram() {
  const uint32_t device = plan().programs.size();
  fb::ProgramT &program =
      builder.program({}, {}, {device}, {{device + 1}, {device + 2}});
  addShards(program.prev_shards);
  addShards(program.curr_shards);
  addShards(program.transit_shards);
  for (size_t i = 0; i != plan().forecast.size(); ++i)
    PlanBuilder::round(program, {});
  for (const Piece &piece : shared)
    if (flip())
      addPiece(piece, program);
  for (int64_t own = pick(0, 4); own; --own)
    addPiece(pickPiece(), program);
  const bool isSorted = pick(0, 5) != 0;
  auto rankOf = [&](uint32_t tensor) {
    return plan().tensors[tensor]->shape.size();
  };
  for (const auto &round : program.rounds)
    if (isSorted)
      std::sort(round->ops.begin(), round->ops.end(),
                OpOrder(plan().bounds.data(), rankOf));
  while (!program.rounds.empty() && program.rounds.back()->ops.empty() &&
         pick(0, 9))
    program.rounds.pop_back();
}

inline fb::PlanT RandomPlan::make() {
  plan().model = "random";
  plan().prev = grid(1, 1, 1);
  plan().curr = grid(1, 1, 1);
  plan().summary = std::make_unique<fb::SummaryT>();
  for (int64_t round = pick(1, 12); round; --round)
    builder.forecast(pick(0, 100), pick(0, 100));
  plan().deferred_rounds = pick(0, plan().forecast.size());
  plan().gradient_bytes = pick(0, 4);
  plan().features = flip() ? kTransitFeature : 0;
  addTensors();
  for (uint32_t tensor = 0; tensor != plan().tensors.size(); ++tensor)
    for (int64_t count = pick(0, 2); count; --count) {
      plan().shards.emplace_back(tensor, plan().boxes.size(), 1);
      plan().boxes.push_back(plan().bounds.size());
      for (Span span : pickBox(tensor))
        plan().bounds.insert(plan().bounds.end(), {span.begin, span.end});
    }
  for (int64_t count = pick(1, 20); count; --count)
    shared.push_back(pickPiece());
  for (int64_t count = pick(1, 6); count; --count)
    addProgram();
  return std::move(plan());
}

} // namespace etc::plan::test

#endif // ETC_TEST_RANDOMPLAN_H
