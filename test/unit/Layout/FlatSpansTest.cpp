//===- FlatSpansTest.cpp - The distributed optimizer's spans --------------===//

#include "Support.h"

using namespace etc;
using namespace etc::layout;
using request::Parallelism;

//===----------------------------------------------------------------------===//
// Flat spans as boxes
//===----------------------------------------------------------------------===//

// Elements 5 to 23 of [4, 6]: the end of row 0, rows 1 and 2, most of row 3.
TEST(FlatBoxes, OfAMatrix) {
  llvm::SmallVector<Box> expected = {
      {{0, 1}, {5, 6}}, {{1, 3}, {0, 6}}, {{3, 4}, {0, 5}}};
  EXPECT_EQ(flatBoxes({{0, 4}, {0, 6}}, {5, 23}), expected);
}

TEST(FlatBoxes, InsideOfOneRow) {
  llvm::SmallVector<Box> expected = {{{7, 8}, {12, 14}}};
  EXPECT_EQ(flatBoxes({{5, 9}, {10, 15}}, {12, 14}), expected);
}

TEST(FlatBoxes, AllAndNothing) {
  llvm::SmallVector<Box> all = {{{5, 9}, {10, 15}}};
  EXPECT_EQ(flatBoxes({{5, 9}, {10, 15}}, {0, 20}), all);
  EXPECT_TRUE(flatBoxes({{5, 9}, {10, 15}}, {7, 7}).empty());
  EXPECT_TRUE(flatBoxes({{5, 9}, {10, 15}}, {0, 0}).empty());
}

// [2, 3, 5] from element 3 to 28: of half 0 the end of row 0 and rows 1 and 2,
// of half 1 rows 0 and 1 and the beginning of row 2.
TEST(FlatBoxes, ThreeAxesMakeFive) {
  llvm::SmallVector<Box> expected = {{{0, 1}, {0, 1}, {3, 5}},
                                     {{0, 1}, {1, 3}, {0, 5}},
                                     {{1, 2}, {0, 2}, {0, 5}},
                                     {{1, 2}, {2, 3}, {0, 3}}};
  EXPECT_EQ(flatBoxes({{0, 2}, {0, 3}, {0, 5}}, {3, 28}), expected);
  EXPECT_EQ(flatBoxes({{0, 4}, {0, 3}, {0, 5}}, {1, 59}).size(), 5u);
}

// Every span of a small box, against a walk over its elements.
TEST(FlatBoxes, EverySpan) {
  const Box box = {{1, 4}, {2, 5}, {7, 11}};
  std::vector<std::array<int64_t, 3>> order;
  for (int64_t i = 1; i < 4; ++i)
    for (int64_t j = 2; j < 5; ++j)
      for (int64_t k = 7; k < 11; ++k)
        order.push_back({i, j, k});
  for (int64_t begin = 0; begin <= 36; ++begin)
    for (int64_t end = begin; end <= 36; ++end) {
      std::vector<std::array<int64_t, 3>> walked;
      llvm::SmallVector<Box> boxes = flatBoxes(box, {begin, end});
      EXPECT_LE(boxes.size(), 5u);
      for (const Box &part : boxes)
        for (int64_t i = part[0].begin; i < part[0].end; ++i)
          for (int64_t j = part[1].begin; j < part[1].end; ++j)
            for (int64_t k = part[2].begin; k < part[2].end; ++k)
              walked.push_back({i, j, k});
      ASSERT_EQ(walked, std::vector(order.begin() + begin, order.begin() + end))
          << begin << ":" << end;
    }
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

/// A table of vectors, whose sizes are their tensors'.
static model::Model vectors(llvm::ArrayRef<int64_t> sizes) {
  request::ModelSpec spec;
  spec.family = "table";
  spec.layers = 1;
  for (int64_t size : sizes)
    spec.tensors.push_back({.name = "t" + std::to_string(spec.tensors.size()),
                            .block = "final",
                            .shape = {size}});
  return model::buildModel(spec, request::Request().types, true);
}

static std::vector<Span> spansOf(const model::Model &model,
                                 const Parallelism &parallel, Role role) {
  std::vector<Span> spans;
  for (const FlatSpan &flat : flatSpans(model, parallel, role, 0))
    spans.push_back(flat.span);
  return spans;
}

static Parallelism zero1(Parallelism parallel) {
  parallel.distributedOptimizer = true;
  return parallel;
}

// Sizes 100, 7, 300, backwards: t2 at 0 to 300, t1 at 320 (5 x 64) to 327, t0
// at 384 to 484; the end is padded to 512 = 4 x 128. Two ranks have 256 each.
TEST(FlatSpans, ReversedAndPadded) {
  model::Model model = vectors({100, 7, 300});
  Parallelism parallel = zero1({1, 1, 2});
  using Spans = std::vector<Span>;
  EXPECT_EQ(spansOf(model, parallel, {0, 0, 0}), (Spans{{}, {}, {0, 256}}));
  EXPECT_EQ(spansOf(model, parallel, {0, 0, 1}),
            (Spans{{0, 100}, {0, 7}, {256, 300}}));
}

// Three ranks: lcm(3, 128) = 384, so 484 is padded to 768, 256 for each. The
// last one begins at 512, behind everything, and holds nothing.
TEST(FlatSpans, ARankMayHoldNothing) {
  model::Model model = vectors({100, 7, 300});
  Parallelism parallel = zero1({1, 1, 3});
  EXPECT_EQ(spansOf(model, parallel, {0, 0, 2}),
            (std::vector<Span>{{}, {}, {}}));
  size_t states = 0;
  for (const HeldBox &held : holdings(model, parallel, {0, 0, 2}))
    states += model.tensors[held.tensor].flat;
  EXPECT_EQ(states, 0u);
}

// Context-parallel ranks share like data-parallel ones, and count first.
TEST(FlatSpans, ContextParallelRanksShareToo) {
  model::Model model = vectors({1000});
  Parallelism parallel = zero1({.dp = 2, .cp = 2});
  for (int64_t d = 0; d < 4; ++d)
    EXPECT_EQ(spansOf(model, parallel, {0, 0, d}).front(),
              (Span{d * 256, std::min<int64_t>(1000, (d + 1) * 256)}));
}

// The copy of the embedding on the last stage of the small model, 384 x 8 =
// 3072 elements, comes first in the buffer and is a bucket of its own: 2 ranks
// have 1536 each, whatever else the stage has.
TEST(FlatSpans, TiedCopiesHaveTheirOwnBucket) {
  model::Model model = model::buildModel(smallSpec(), request::Request().types,
                                         /*distributedOptimizer=*/true);
  Parallelism parallel = zero1({2, 1, 2});
  for (int64_t p : {0, 1})
    for (int64_t d : {0, 1})
      for (const FlatSpan &flat : flatSpans(model, parallel, {p, 0, d}, 0)) {
        if (!model.tensors[flat.instance.tensor].vocabRows)
          continue;
        EXPECT_EQ(flat.span, (Span{d * 1536, (d + 1) * 1536}));
      }
}

// Experts apart: EP2 over DP4 leaves each expert two ranks to share, 0 and 2.
TEST(FlatSpans, ExpertsHaveABufferOfTheirOwn) {
  request::ModelSpec spec;
  spec.family = "table";
  spec.layers = 1;
  spec.experts.count = 2;
  spec.tensors = {{.name = "w", .block = "final", .shape = {512}},
                  {.name = "e{expert}", .block = "final", .shape = {256}}};
  model::Model model = model::buildModel(spec, request::Request().types, true);
  Parallelism parallel = zero1({.dp = 4, .ep = 2});
  ASSERT_EQ(parallel.slots(), 2);
  // Slot 1, replica 1: rank 3, the last of four and expert 1's second.
  std::vector<FlatSpan> spans = flatSpans(model, parallel, {0, 1, 1}, 0);
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].span, (Span{384, 512}));
  EXPECT_EQ(spans[1].instance.expert, 1);
  EXPECT_EQ(spans[1].span, (Span{128, 256}));
  // Without expert parallelism both experts are in the common buffer: e1 at 0,
  // e0 at 256, w at 512 to 1024, a quarter each.
  Parallelism without = zero1({.dp = 4});
  EXPECT_EQ(spansOf(model, without, {0, 0, 1}),
            (std::vector<Span>{{}, {0, 256}, {}}));
  EXPECT_EQ(spansOf(model, without, {0, 0, 3}),
            (std::vector<Span>{{256, 512}, {}, {}}));
}

// Interleaved chunks are models of their own, with their own buffers.
TEST(FlatSpans, AChunkHasItsOwnBuffer) {
  request::ModelSpec spec;
  spec.family = "table";
  spec.layers = 4;
  spec.tensors = {{.name = "{layer}", .block = "layer", .shape = {256}}};
  model::Model model = model::buildModel(spec, request::Request().types, true);
  Parallelism parallel = zero1({.pp = 2, .dp = 2, .vpp = 2});
  for (int64_t k : {0, 1}) {
    std::vector<FlatSpan> spans = flatSpans(model, parallel, {1, 0, 1}, k);
    ASSERT_EQ(spans.size(), 1u);
    EXPECT_EQ(spans[0].instance.layer, 2 * k + 1);
    EXPECT_EQ(spans[0].span, (Span{128, 256}));
  }
}

// What is distributed on one side only is whole on the other.
TEST(FlatSpans, OneSideOnly) {
  model::Model model = vectors({512});
  Parallelism whole = {1, 1, 2};
  EXPECT_EQ(bytesOf(holdings(model, whole, {0, 0, 1}), model), 14 * 512);
  EXPECT_EQ(bytesOf(holdings(model, zero1(whole), {0, 0, 1}), model),
            2 * 512 + 12 * 256);
  EXPECT_EQ(overlapBytes(model, whole, {0, 0, 0}, zero1(whole), {0, 0, 1}),
            2 * 512 + 12 * 256);
  EXPECT_EQ(
      overlapBytes(model, zero1(whole), {0, 0, 0}, zero1(whole), {0, 0, 1}),
      2 * 512);
}
