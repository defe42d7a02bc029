// Condensed plans: what is read is the plan that was written.

#include "ChangedLists.h"
#include "RandomPlan.h"

#include "core/plan/BoxTable.h"
#include "core/plan/Condense.h"
#include "core/plan/Fingerprint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

using namespace etc;
using namespace etc::plan;
using namespace etc::plan::test;

namespace {

/// The same plan with each box once, in the order in which they are named.
std::vector<uint8_t> canonical(const fb::Plan &plan) {
  fb::PlanT object;
  plan.UnPackTo(&object);
  const std::vector<int64_t> bounds = std::move(object.bounds);
  object.bounds.clear();
  BoxTable boxes(object.bounds);
  auto move = [&](uint32_t offset, uint32_t tensor) {
    return boxes.add(BoxView::ofBounds(bounds.data() + offset,
                                       object.tensors[tensor]->shape.size()));
  };
  for (const fb::Shard &shard : object.shards)
    for (uint32_t i = 0; i != shard.box_count(); ++i) {
      uint32_t &box = object.boxes[shard.first_box() + i];
      box = move(box, shard.tensor());
    }
  for (const auto &program : object.programs)
    for (const auto &round : program->rounds)
      for (fb::Op &op : round->ops)
        if (op.kind() != fb::OpKind::release)
          op = {op.kind(),
                op.from_curr(),
                op.transit(),
                op.peer(),
                op.tensor(),
                op.source(),
                move(op.box(), op.tensor())};
  return packPlan(std::move(object));
}

/// Expands what `bytes` condense to, whatever the plan's rules would say.
void expectSamePlan(const std::vector<uint8_t> &bytes) {
  const std::vector<uint8_t> condensed = condensePlan(bytes);
  const fb::Plan &stated = *fb::GetPlan(condensed.data());
  ASSERT_NE(stated.condensed(), nullptr);
  Result<fb::PlanT> plan = expandPlan(stated, condensed.size());
  ASSERT_EQ(plan.status().message(), "");
  const std::vector<uint8_t> expanded = packPlan(std::move(*plan));
  EXPECT_EQ(canonical(*fb::GetPlan(expanded.data())),
            canonical(*fb::GetPlan(bytes.data())));
}

TEST(CondenseTest, FilesAreReadAsTheyWereWritten) {
  for (fb::PlanT (*make)() : {twoStagePlan, relayPlan, transitPlan,
                              certifiedPlan, certifiedRelayPlan}) {
    const std::vector<uint8_t> bytes = packPlan(make());
    expectSamePlan(bytes);
    const std::vector<uint8_t> condensed = condensePlan(bytes);
    EXPECT_EQ(condensePlan(condensed), condensed);
    const Result<PlanFile> file = PlanFile::read(condensed);
    ASSERT_EQ(file.status().message(), "");
    EXPECT_TRUE(std::ranges::equal(file->fileBytes(), condensed));
    EXPECT_EQ(checkPlan(file->plan()).message(), "");
    EXPECT_EQ(fingerprint(PlanIndex(file->plan())),
              fingerprint(PlanIndex(*fb::GetPlan(bytes.data()))));
  }
}

TEST(CondenseTest, RandomPlansAreReadAsTheyWereWritten) {
  const unsigned seed = std::random_device{}();
  unsigned copied = 0;
  for (unsigned i = 0; i != 500 && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE(testing::Message() << "seed " << seed + i);
    const std::vector<uint8_t> bytes = packPlan(RandomPlan(seed + i).make());
    // Of random plans, one in thousands only releases and names no box, which
    // the check of condensed plans does not take.
    if (condensePlan(bytes) == bytes)
      ++copied;
    else
      expectSamePlan(bytes);
  }
  EXPECT_LE(copied, 3u) << "seed " << seed;
}

/// A tensor of layers that all devices keep in eight rounds: once in the file.
TEST(CondenseTest, WhatProgramsShareIsStatedOnce) {
  PlanBuilder b;
  b.plan.model = "layers";
  b.plan.prev = grid(1, 1, 4);
  b.plan.curr = grid(1, 1, 4);
  b.plan.summary = std::make_unique<fb::SummaryT>();
  for (unsigned layer = 0; layer != 32; ++layer)
    b.tensor(text("w", layer).c_str(), "param", fb::DType::bf16, {16, 4});
  for (unsigned device = 0; device != 4; ++device)
    b.program({}, {}, {device}, {});
  for (unsigned round = 0; round != 8; ++round) {
    b.forecast(0, 0);
    const uint32_t box = b.box({{2 * round, 2 * round + 2}, {0, 4}});
    for (const auto &program : b.plan.programs) {
      PlanBuilder::round(*program, {});
      for (uint32_t layer = 0; layer != 32; ++layer)
        program->rounds.back()->ops.push_back(refer(layer, box));
    }
  }
  const std::vector<uint8_t> bytes = packPlan(std::move(b.plan));
  ASSERT_NO_FATAL_FAILURE(expectSamePlan(bytes));
  const std::vector<uint8_t> condensed = condensePlan(bytes);
  const CondensedLists stated = listsOf(condensed);
  ASSERT_EQ(stated.items.size(), 1u);
  EXPECT_EQ(stated.items[0].count(), 32u);
  ASSERT_EQ(stated.pieces.size(), 1u);
  EXPECT_EQ(stated.cuts[stated.pieces[0].cut()].count(), 8u);
  EXPECT_EQ(stated.flows.size(), 1u);
  for (const ProgramLists &program : stated.programs)
    EXPECT_EQ(program.steps.size(), 1u);
  EXPECT_LT(condensed.size(), bytes.size() / 4);
}

/// Layers, and experts of each, by one text. What differs in anything but
/// numbers is a template of its own, and numbers come out as they were written.
TEST(CondenseTest, NamesThatDifferInNumbersAreStatedOnce) {
  PlanBuilder b;
  b.plan = twoStagePlan();
  auto add = [&](const std::string &name, const std::vector<int64_t> &shape) {
    const uint32_t param =
        b.tensor(name.c_str(), "param", fb::DType::bf16, shape);
    const uint32_t master =
        b.tensor(name.c_str(), "master", fb::DType::fp32, shape);
    b.plan.tensors[param]->derived_from = static_cast<int32_t>(master);
  };
  for (unsigned layer = 8; layer != 12; ++layer)
    for (unsigned expert = 0; expert != 16; ++expert)
      add(text("layers.", layer, ".fc1.w", expert), {6, 4});
  for (unsigned layer = 0; layer != 4; ++layer)
    add(text("layers.", layer, ".fc2.w0"), {4, 6});
  for (const char *name :
       {"", "7", "007", "{}", "a00.b1", "a01.b1", "a1.b2", "4294967296",
        "999999999", "x999999998y", "x999999999y", "x1000000000y", "0", "00"})
    add(name, {2});
  const std::vector<uint8_t> bytes = packPlan(std::move(b.plan));
  ASSERT_NO_FATAL_FAILURE(expectSamePlan(bytes));
  const std::vector<uint8_t> condensed = condensePlan(bytes);
  const fb::Condensed &stated = *fb::GetPlan(condensed.data())->condensed();
  const auto entry =
      std::find_if(stated.templates()->begin(), stated.templates()->end(),
                   [](const fb::TensorTemplate *it) {
                     return it->name()->str().starts_with("layers.\n.fc1");
                   });
  ASSERT_NE(entry, stated.templates()->end());
  EXPECT_EQ(entry->name()->str(), "layers.\n.fc1.w\n");
  const std::vector<fb::NameRun> names = listsOf(condensed).names;
  const auto runs = std::ranges::count_if(names, [&](const fb::NameRun &run) {
    return run.index() == entry - stated.templates()->begin();
  });
  EXPECT_EQ(runs, 4);
}

TEST(CondenseTest, EveryDamagedByteIsNoticed) {
  const std::vector<uint8_t> bytes = condensePlan(packPlan(twoStagePlan()));
  for (size_t at = 0; at != bytes.size(); ++at) {
    std::vector<uint8_t> damaged = bytes;
    damaged[at] ^= 0x10;
    EXPECT_FALSE(PlanFile::read(damaged)) << at;
  }
}

/// Damage with a right hash, as a faulty writer makes it.
TEST(CondenseTest, SealedDamageIsHarmless) {
  for (const std::vector<uint8_t> &bytes :
       {condensePlan(packPlan(twoStagePlan())),
        condensePlan(packPlan(transitPlan()))})
    for (size_t at = 8; at != bytes.size(); ++at)
      for (uint8_t value : {0x00, 0x01, 0x7f, 0xff}) {
        std::vector<uint8_t> damaged = bytes;
        damaged[at] = value;
        flatbuffers::Verifier verifier(damaged.data(), damaged.size());
        if (!fb::VerifyPlanBuffer(verifier) || !sealPlan(damaged).ok())
          continue;
        const Result<PlanFile> file = PlanFile::read(damaged);
        if (file)
          (void)checkPlan(file->plan());
        else
          EXPECT_EQ(file.status().message().find('\n'), std::string::npos);
      }
}

} // namespace
