//===- PropertyTest.cpp - Layouts cover every tensor ----------------------===//
//
// ETC_TEST_SEED repeats a run.
//
//===----------------------------------------------------------------------===//

#include "Support.h"

#include <cstdlib>
#include <map>
#include <random>

using namespace etc;
using namespace etc::layout;
using config::Parallelism;

namespace {
class RandomLayouts : public testing::Test {
protected:
  RandomLayouts() {
    const char *given = std::getenv("ETC_TEST_SEED");
    seed = given ? std::strtoul(given, nullptr, 10) : std::random_device()();
    generator.seed(seed);
    std::printf("ETC_TEST_SEED=%lu\n", seed);
  }

  int64_t pick(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(generator);
  }

  Parallelism pickSide() {
    return {pick(1, 6), int64_t(1) << pick(0, 3), pick(1, 4)};
  }

  /// A model that divides over all given sides.
  model::Model pickModel(llvm::ArrayRef<Parallelism> sides) {
    config::ModelSpec spec;
    spec.layers = pick(1, 2);
    for (const Parallelism &side : sides)
      spec.layers *= side.pp;
    spec.heads = 8 * pick(1, 3);
    spec.hidden = spec.heads * pick(1, 5);
    spec.ffn = 8 * pick(1, 20);
    spec.vocab = pick(1, 5000);
    spec.seq = pick(1, 50);
    spec.tiedEmbeddings = pick(0, 1);
    return model::buildModel(spec, config::Request().types);
  }

  unsigned long seed;
  std::mt19937_64 generator;
};

/// The boxes of a tensor by tensor-parallel rank, and the stage that has them.
struct Holders {
  std::vector<Box> boxes;
  int64_t stage;
};
} // namespace

/// All tensors of one replica; every one must be on a single stage.
static std::map<std::string, Holders> holdersOf(const model::Model &model,
                                                const Parallelism &parallel) {
  std::map<std::string, Holders> all;
  forEachRole(parallel, [&](Role role) {
    for (const Piece &piece : holdings(model, parallel, role)) {
      std::string name = tensorName(model.tensors[piece.tensor], piece.layer);
      Holders &holders =
          all.try_emplace(name, Holders{{}, role.p}).first->second;
      EXPECT_EQ(holders.stage, role.p) << name;
      holders.boxes.push_back(piece.box);
    }
  });
  return all;
}

/// Split: in rank order, the boxes follow on each other from end to end.
/// Replicated: every rank has all of it.
static void expectCovered(const model::TensorTemplate &tensor,
                          const Parallelism &parallel, const Holders &holders) {
  std::vector<int64_t> shape = shapeOn(tensor, parallel);
  ASSERT_EQ(static_cast<int64_t>(holders.boxes.size()), parallel.tp);
  std::vector<int64_t> next(shape.size(), 0);
  for (const Box &box : holders.boxes)
    for (int axis = 0; axis < static_cast<int>(shape.size()); ++axis) {
      bool split = axis == tensor.splitAxis;
      EXPECT_EQ(box[axis].begin, split ? next[axis] : 0);
      EXPECT_TRUE(split || box[axis].end == shape[axis]);
      next[axis] = box[axis].end;
    }
  EXPECT_EQ(next, shape);
}

TEST_F(RandomLayouts, AReplicaCoversEveryTensorExactlyOnce) {
  for (int i = 0; i < 50; ++i) {
    Parallelism parallel = pickSide();
    model::Model model = pickModel(parallel);
    std::map<std::string, Holders> all = holdersOf(model, parallel);
    for (const model::TensorTemplate &tensor : model.tensors) {
      int64_t copies = tensor.block == model::Block::Layer ? model.layers : 1;
      for (int64_t layer = 0; layer < copies; ++layer) {
        SCOPED_TRACE(parallel.str() + " " + tensorName(tensor, layer));
        auto found = all.find(tensorName(tensor, layer));
        ASSERT_EQ(found != all.end(), existsOn(tensor, parallel));
        if (found != all.end())
          expectCovered(tensor, parallel, found->second);
      }
    }
  }
}
