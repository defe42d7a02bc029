//===- PropertyTest.cpp - Layouts cover every tensor ----------------------===//
//
// ETC_TEST_SEED repeats a run.
//
//===----------------------------------------------------------------------===//

#include "Support.h"

#include <cstdlib>
#include <map>
#include <numeric>
#include <random>
#include <tuple>

using namespace etc;
using namespace etc::layout;
using request::Parallelism;

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
    request::ModelSpec spec;
    spec.layers = pick(1, 2);
    for (const Parallelism &side : sides)
      spec.layers *= side.pp;
    spec.heads = 8 * pick(1, 3);
    spec.hidden = spec.heads * pick(1, 5);
    spec.ffn = 8 * pick(1, 20);
    spec.vocab = pick(1, 5000);
    spec.seq = pick(1, 50);
    spec.tiedEmbeddings = pick(0, 1);
    return model::buildModel(spec, request::Request().types);
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
    for (const HeldBox &one : holdings(model, parallel, role)) {
      std::string name = tensorName(model.tensors[one.tensor], one.layer);
      Holders &holders =
          all.try_emplace(name, Holders{{}, role.p}).first->second;
      EXPECT_EQ(holders.stage, role.p) << name;
      holders.boxes.push_back(one.box);
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

//===----------------------------------------------------------------------===//
// All dimensions at once
//===----------------------------------------------------------------------===//

namespace {
class RandomGrids : public RandomLayouts {
protected:
  bool coin() { return pick(0, 1); }

  /// A divisor of a number.
  int64_t pickDivisor(int64_t number) {
    int64_t divisor = pick(1, number);
    while (number % divisor != 0)
      --divisor;
    return divisor;
  }

  /// Chunks of any sizes, none included.
  void pickStages(Parallelism &parallel, int64_t layers) {
    if (coin())
      return;
    parallel.stages.assign(parallel.pp * parallel.vpp, 0);
    for (int64_t layer = 0; layer < layers; ++layer)
      ++parallel.stages[pick(0, parallel.stages.size() - 1)];
  }

  Parallelism pickGrid(int64_t experts) {
    Parallelism parallel = {
        .pp = pick(1, 4), .tp = pick(1, 3), .dp = pick(1, 7), .cp = pick(1, 2)};
    if (parallel.pp > 1)
      parallel.vpp = pick(1, 2);
    if (experts) {
      parallel.etp = pickDivisor(parallel.tp);
      int64_t ranks = parallel.stageSize() / parallel.etp;
      parallel.ep = pickDivisor(std::gcd(experts, ranks));
    }
    parallel.distributedOptimizer = pick(0, 3) != 0;
    if (parallel.tp * parallel.cp == parallel.expertTp() * parallel.ep &&
        coin())
      parallel.order = request::RankOrder::TpCpEpPpDp;
    return parallel;
  }

  /// Awkward sizes: every cut axis is 6 times something, nothing else is round.
  request::ModelSpec pickSpec(const Parallelism &parallel, int64_t experts) {
    request::ModelSpec spec;
    spec.layers = parallel.pp * parallel.vpp * pick(1, 2);
    spec.hidden = pick(3, 13);
    spec.heads = 6;
    spec.headDim = pick(1, 3);
    spec.kvHeads = coin() ? 6 : 3;
    spec.ffn = 6 * pick(1, 5);
    spec.vocab = pick(1, 400);
    spec.seq = pick(1, 50);
    spec.vocabMultiple = pick(1, 7);
    spec.tiedEmbeddings = coin();
    spec.traits = {.learnedPositions = coin(),
                   .normBias = coin(),
                   .gated = coin(),
                   .qkNorm = coin(),
                   .routerBias = coin(),
                   .fusedNames = coin(),
                   .groupedExperts = coin()};
    spec.mtpLayers = pick(0, 1);
    if (spec.mtpLayers)
      spec.hidden = 6 * pick(1, 3);
    if (experts)
      spec.experts = {.count = experts,
                      .ffn = 6 * pick(1, 3),
                      .sharedFfn = 6 * pick(0, 1),
                      .denseLayers = pick(0, spec.layers)};
    return spec;
  }
};

/// How often each element of a tensor is held.
struct Counter {
  std::vector<int64_t> shape, counts;

  void add(const Box &box) {
    std::vector<int64_t> at;
    walk(box, at);
  }

private:
  void walk(const Box &box, std::vector<int64_t> &at) {
    size_t axis = at.size();
    if (axis == box.rank()) {
      int64_t index = 0;
      for (size_t i = 0; i < at.size(); ++i)
        index = index * shape[i] + at[i];
      ++counts[index];
      return;
    }
    ASSERT_LE(box[axis].end, shape[axis]);
    for (int64_t i = box[axis].begin; i < box[axis].end; ++i) {
      at.push_back(i);
      walk(box, at);
      at.pop_back();
    }
  }
};

using Key = std::tuple<unsigned, int64_t, int64_t>;
} // namespace

static std::map<Key, Counter> countAll(const model::Model &model,
                                       const Parallelism &parallel) {
  std::map<Key, Counter> all;
  for (int64_t rank = 0; rank < parallel.world(); ++rank)
    for (const HeldBox &one :
         holdings(model, parallel, virtualRank(parallel, rank).role)) {
      Counter &counter = all[{one.tensor, one.layer, one.expert}];
      if (counter.counts.empty()) {
        counter.shape = shapeOn(model.tensors[one.tensor], parallel);
        int64_t size = 1;
        for (int64_t extent : counter.shape)
          size *= extent;
        counter.counts.assign(size, 0);
      }
      counter.add(one.box);
    }
  return all;
}

/// How often a side holds each element of a tensor, worked out from its grid.
static int64_t expectedCopies(const model::TensorTemplate &tensor,
                              const Parallelism &parallel) {
  int64_t tp = tensor.ofExpert ? parallel.expertTp() : parallel.tp;
  int64_t whole = tensor.splitAxis < 0 ? tp : 1;
  if (!tensor.flat || !parallel.distributedOptimizer)
    return whole * parallel.stageSize() /
           (tensor.ofExpert ? tp * parallel.ep : tp);
  // The ranks of a group share what one of them would hold; without expert
  // parallelism an expert's group is that of the rest.
  bool apart = tensor.ofExpert && parallel.ep > 1;
  return tensor.ofExpert && !apart ? whole * parallel.tp / tp : whole;
}

TEST_F(RandomGrids, EveryElementIsHeldAsOftenAsTheGridSays) {
  const char *runs = std::getenv("ETC_TEST_RUNS");
  for (int i = 0; i < (runs ? std::atoi(runs) : 60); ++i) {
    int64_t experts = coin() ? 0 : pick(1, 6);
    Parallelism parallel = pickGrid(experts);
    request::ModelSpec spec = pickSpec(parallel, experts);
    pickStages(parallel, spec.layers);
    if (spec.mtpLayers && coin())
      parallel.mtpStage = pick(0, parallel.pp - 1);
    model::Model model = model::buildModel(spec, request::Request().types,
                                           parallel.distributedOptimizer);
    SCOPED_TRACE(parallel.str() + " experts " + std::to_string(experts));
    std::map<Key, Counter> all = countAll(model, parallel);
    for (unsigned t = 0; t < model.tensors.size(); ++t) {
      const model::TensorTemplate &tensor = model.tensors[t];
      if (!existsOn(tensor, parallel))
        continue;
      int64_t copies = expectedCopies(tensor, parallel);
      for (int64_t layer = tensor.isOfLayer() ? 0 : -1;
           layer < (tensor.isOfLayer() ? model.layers : 0); ++layer) {
        if (!hasLayer(tensor, layer))
          continue;
        for (int64_t expert = tensor.ofExpert ? 0 : -1;
             expert < (tensor.ofExpert ? model.experts : 0); ++expert) {
          auto found = all.find({t, layer, expert});
          ASSERT_TRUE(found != all.end()) << tensorName(tensor, layer, expert);
          for (int64_t count : found->second.counts)
            ASSERT_EQ(count, copies) << tensorName(tensor, layer, expert);
          all.erase(found);
        }
      }
    }
    EXPECT_TRUE(all.empty()) << "what no template says is held";
  }
}

TEST_F(RandomGrids, OverlapIsWhatTheHoldingsShare) {
  for (int i = 0; i < 30; ++i) {
    int64_t experts = coin() ? 0 : pick(1, 6);
    Parallelism prev = pickGrid(experts), curr = pickGrid(experts);
    request::ModelSpec spec = pickSpec(prev, experts);
    spec.layers = prev.pp * prev.vpp * curr.pp * curr.vpp;
    model::Model model =
        model::buildModel(spec, request::Request().types, true);
    Role a = virtualRank(prev, pick(0, prev.world() - 1)).role;
    Role b = virtualRank(curr, pick(0, curr.world() - 1)).role;
    int64_t bytes = 0;
    for (const HeldBox &wanted : holdings(model, curr, b)) {
      std::vector<Box> lacking = {wanted.box};
      for (const HeldBox &held : holdings(model, prev, a))
        if (held.layer == wanted.layer && held.expert == wanted.expert &&
            llvm::is_contained(sourceTensors(model, prev, wanted.tensor),
                               held.tensor))
          lacking = subtract(lacking, held.box);
      int64_t elements = volume(wanted.box);
      for (const Box &box : lacking)
        elements -= volume(box);
      bytes += elements * model.bytesPerElement(model.tensors[wanted.tensor]);
    }
    EXPECT_EQ(overlapBytes(model, prev, a, curr, b), bytes);
  }
}
