// Condensed plans: what is read is the plan that was written, and damaged
// tables are refused.

#include "PlanFixture.h"
#include "RandomPlan.h"

#include "core/plan/BoxTable.h"
#include "core/plan/Condense.h"
#include "core/plan/Fingerprint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
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
  EXPECT_EQ(checkCondensed(stated, condensed.size()).message(), "");
  const std::vector<uint8_t> expanded = packPlan(expandPlan(stated));
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
  const fb::Plan &stated = *fb::GetPlan(condensed.data());
  ASSERT_EQ(stated.condensed()->items()->size(), 1u);
  const fb::Item &item = *stated.condensed()->items()->Get(0);
  EXPECT_EQ(item.count(), 32u);
  ASSERT_EQ(stated.condensed()->pieces()->size(), 1u);
  const fb::Piece &piece = *stated.condensed()->pieces()->Get(0);
  EXPECT_EQ(stated.condensed()->cuts()->Get(piece.cut())->count(), 8u);
  EXPECT_EQ(stated.condensed()->flows()->size(), 1u);
  for (const fb::Program *program : *stated.programs())
    EXPECT_EQ(program->steps()->size(), 1u);
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
  const auto runs = std::count_if(
      stated.names()->begin(), stated.names()->end(),
      [&](const fb::NameRun *run) {
        return run->index() == entry - stated.templates()->begin();
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

TEST(CondenseTest, MalformedTables) {
  const std::vector<uint8_t> bytes = condensePlan(packPlan(twoStagePlan()));
  struct Case {
    std::function<void(fb::PlanT &)> change;
    const char *message;
  };
  const Case cases[] = {
      {[](fb::PlanT &p) { p.features = 0; },
       "features: a condensed plan has flag 16, and no other"},
      {[](fb::PlanT &p) { p.condensed.reset(); },
       "features: a condensed plan has flag 16, and no other"},
      {[](fb::PlanT &p) { p.condensed->flows[0].mutate_count(0); },
       "condensed.flows[0]: 0 from 0 on, of 12"},
      {[](fb::PlanT &p) { p.condensed->flows[0].mutate_first(~0u); },
       "condensed.flows[0]: 1 from 4294967295 on, of 12"},
      {[](fb::PlanT &p) { p.condensed->cuts[0].mutate_count(~0u); },
       "condensed.cuts[0]: 4294967295 from 0 on, of 2"},
      {[](fb::PlanT &p) { p.condensed->lists.back().mutate_count(99); },
       "condensed.lists[4]: 99 from 7 on, of 11"},
      {[](fb::PlanT &p) { p.condensed->rounds[0] = 2; },
       "condensed.rounds[0]: 2 is not in [0, 2)"},
      {[](fb::PlanT &p) { p.condensed->shards[1] = 99; },
       "condensed.shards[1]: 99 is not in [0, 11)"},
      {[](fb::PlanT &p) { p.condensed->items[0].mutate_tensor(5); },
       "condensed.items[0].tensor: 1 from 5 on, of 5"},
      {[](fb::PlanT &p) { p.condensed->items[0].mutate_source(~0u); },
       "condensed.items[0].source: 1 from 4294967295 on, of 5"},
      {[](fb::PlanT &p) { p.condensed->items[0].mutate_count(0); },
       "condensed.items[0].count: 0 is not at least 1"},
      {[](fb::PlanT &p) { p.condensed->items[0].mutate_count(~0u); },
       "condensed.items[0].tensor: 4294967295 from 4 on, of 5"},
      {[](fb::PlanT &p) { p.condensed->items[0].mutate_split(99); },
       "condensed.items[0].split: 99 is not in [0, 9)"},
      {[](fb::PlanT &p) { p.condensed->splits[1].mutate_count(99); },
       "condensed.splits[1]: 99 from 1 on, of 9"},
      {[](fb::PlanT &p) { p.condensed->pieces[0].mutate_cut(99); },
       "condensed.pieces[0].cut: 99 is not in [0, 2)"},
      {[](fb::PlanT &p) { p.condensed->pieces[0].mutate_box(~0u); },
       "condensed.pieces[0].box: ends at 4294967299 of 34"},
      {[](fb::PlanT &p) {
         p.shards[1] = fb::Shard(p.shards[1].tensor(), 0, 99);
       },
       "shards[1]: boxes [0, 99) are not in [0, 7)"},
      {[](fb::PlanT &p) {
         p.boxes.assign(9, 0);
         p.shards[1] = p.shards[2] = fb::Shard(p.shards[1].tensor(), 0, 9);
       },
       "shards[2].first_box: 0, the boxes of a shard before end at 9"},
      {[](fb::PlanT &p) {
         p.condensed->templates[0]->tensors[0]->type = "a\nb";
       },
       "tensors[0]: its name or type has a control character"},
      {[](fb::PlanT &p) { p.condensed->templates[0]->name += '\0'; },
       "tensors[0]: its name or type has a control character"},
      {[](fb::PlanT &p) {
         p.tensors.push_back(std::make_unique<fb::TensorT>());
       },
       "tensors: a condensed plan has none"},
      {[](fb::PlanT &p) { p.condensed->templates[1]->tensors.clear(); },
       "condensed.templates[1].tensors: none"},
      {[](fb::PlanT &p) { p.condensed->templates[1]->tensors[0]->name = "w"; },
       "condensed.templates[1].tensors[0].name: a tensor of a template has "
       "none of its own"},
      {[](fb::PlanT &p) { p.condensed->templates[1]->tensors[0]->shape = {}; },
       "condensed.templates[1].tensors[0].shape: 0 axes, from 1 to 8 are "
       "allowed"},
      {[](fb::PlanT &p) { p.condensed->templates[1]->tensors[1]->tied_to = 9; },
       "tensors[2].tied_to: 11 is not in [0, 5)"},
      {[](fb::PlanT &p) {
         p.condensed->templates[0]->tensors[0]->derived_from = -1;
       },
       "tensors[0].derived_from: -1 is not in [0, 5)"},
      {[](fb::PlanT &p) { p.condensed->names[0].mutate_index(9); },
       "condensed.names[0].index: 9 is not in [0, 4)"},
      {[](fb::PlanT &p) { p.condensed->names[1].mutate_count(0); },
       "condensed.names[1].count: 0 names of a template with 0 numbers"},
      {[](fb::PlanT &p) { p.condensed->names[1].mutate_count(2); },
       "condensed.names[1].count: 2 names of a template with 0 numbers"},
      {[](fb::PlanT &p) { p.condensed->numbers = {1}; },
       "condensed.numbers: 1, the names have 0"},
      // The same name twice is looked at once it is there.
      {[](fb::PlanT &p) {
         p.condensed->names.push_back({0, 1});
       },
       "tensors[5]: embedding.weight (param) is tensors[0] already"},
      {[](fb::PlanT &p) { p.programs[1]->steps[0].mutate_flow(99); },
       "programs[1].steps[0].flow: 99 is not in [0, 8)"},
      {[](fb::PlanT &p) { p.programs[1]->prev_lists = {99}; },
       "programs[1].prev_lists[0]: 99 is not in [0, 5)"},
      {[](fb::PlanT &p) { p.programs[1]->curr_lists = {~0u}; },
       "programs[1].curr_lists[0]: 4294967295 is not in [0, 5)"},
      {[](fb::PlanT &p) { p.programs[1]->curr_shards = {0}; },
       "programs[1].curr_shards: a program with lists has none"},
      {[](fb::PlanT &p) { PlanBuilder::round(*p.programs[1], {}); },
       "programs[1].rounds: a program with steps has none"},
      // A box that is cut is looked at before it is.
      {[](fb::PlanT &p) {
         p.condensed->cuts[0] = {0, 2};
         p.condensed->rounds = {0, 1};
         p.condensed->pieces[0].mutate_box(1);
       },
       "condensed.pieces[0].box: axis 0: 5:0 is not a range of [0, 6)"},
  };
  for (size_t i = 0; i != std::size(cases); ++i) {
    fb::PlanT plan;
    fb::GetPlan(bytes.data())->UnPackTo(&plan);
    cases[i].change(plan);
    EXPECT_EQ(PlanFile::read(packPlan(std::move(plan))).status().message(),
              cases[i].message)
        << i;
  }
}

/// A file can have one tensor in many places of a template.
TEST(CondenseTest, TemplatesThatNoNameIsOfAreCounted) {
  const std::vector<uint8_t> bytes = condensePlan(packPlan(twoStagePlan()));
  fb::PlanT plan;
  fb::GetPlan(bytes.data())->UnPackTo(&plan);
  const fb::TensorT tensor = *plan.condensed->templates[0]->tensors[0];
  auto unused = std::make_unique<fb::TensorTemplateT>();
  for (unsigned i = 0; i != 100'000; ++i)
    unused->tensors.push_back(std::make_unique<fb::TensorT>(tensor));
  plan.condensed->templates.push_back(std::move(unused));
  const std::vector<uint8_t> large = packPlan(std::move(plan));
  const fb::Plan &stated = *fb::GetPlan(large.data());
  EXPECT_NE(checkCondensed(stated, bytes.size()).message().find("states more"),
            std::string::npos);
}

/// Small files that state more than any machine has.
TEST(CondenseTest, WhatAFileMayStateIsBounded) {
  const std::vector<uint8_t> bytes = condensePlan(packPlan(twoStagePlan()));
  const std::function<void(fb::PlanT &)> changes[] = {
      [](fb::PlanT &p) { // one flow of many items, many times
        const fb::Item item = p.condensed->items[0];
        p.condensed->items.assign(1000, item);
        p.condensed->flows.assign(1, fb::Run(0, 1000));
        for (const auto &program : p.programs)
          for (fb::Step &step : program->steps)
            step.mutate_flow(0);
        p.programs[0]->steps.assign(1000, p.programs[0]->steps[0]);
      },
      [](fb::PlanT &p) { // one list, a thousand times
        p.condensed->shards.assign(1000, 0);
        p.condensed->lists.assign(1, fb::Run(0, 1000));
        p.programs[0]->prev_lists.assign(2000, 0);
      },
      [](fb::PlanT &p) { // one split of many pieces, by many items
        const fb::Piece piece = p.condensed->pieces[0];
        p.condensed->pieces.assign(1000, piece);
        p.condensed->splits.assign(1, fb::Run(0, 1000));
        const fb::Item item(0, 0, 0, 1);
        p.condensed->items.assign(1000, item);
        p.condensed->flows.assign(1, fb::Run(0, 1000));
      },
      [](fb::PlanT &p) { // a billion names
        p.condensed->templates[0]->name = "w\n";
        p.condensed->numbers = {0};
        p.condensed->names[0].mutate_count(1'000'000'000);
      },
      [](fb::PlanT &p) { // cuts that overlap
        p.condensed->rounds.assign(4000, 0);
        p.condensed->cuts.assign(4000, fb::Run(0, 4000));
      },
      [](fb::PlanT &p) { // a late round of many programs
        p.forecast.assign(4000, fb::RoundForecast());
        p.condensed->rounds.assign(p.condensed->rounds.size(), 3999);
        for (unsigned i = 0; i != 1000; ++i)
          p.programs.push_back(std::make_unique<fb::ProgramT>(*p.programs[0]));
      },
  };
  for (size_t i = 0; i != std::size(changes); ++i) {
    fb::PlanT plan;
    fb::GetPlan(bytes.data())->UnPackTo(&plan);
    changes[i](plan);
    const Result<PlanFile> file = PlanFile::read(packPlan(std::move(plan)));
    EXPECT_NE(file.status().message().find("states more than "),
              std::string::npos)
        << i << ": " << file.status().message();
  }
}

} // namespace
