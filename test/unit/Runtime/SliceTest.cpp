// Slices: each is a plan that the referee accepts and proves that it is of its
// plan; what is changed in one is found.

#include "PlanFixture.h"

#include "core/plan/Slice.h"

#include <gtest/gtest.h>

#include <functional>

using namespace etc::plan;
using namespace etc::plan::test;

namespace {

PlanFile openFile(const std::vector<uint8_t> &bytes) {
  Result<PlanFile> file = PlanFile::read(bytes);
  EXPECT_EQ(file.status().message(), "");
  return std::move(*file);
}

/// A plan file in memory.
struct Opened {
  explicit Opened(std::vector<uint8_t> content)
      : bytes(std::move(content)), file(openFile(bytes)), index(file.plan()) {}
  Opened(fb::PlanT plan) : Opened(packPlan(std::move(plan))) {}

  std::vector<uint8_t> bytes;
  PlanFile file;
  PlanIndex index;
};

/// What is wrong with a plan file; empty where nothing is.
std::string judgeFile(const std::vector<uint8_t> &bytes) {
  Result<PlanFile> file = PlanFile::read(bytes);
  return file ? checkPlan(file->plan()).message() : file.status().message();
}

std::vector<uint8_t> sliceOf(const Opened &plan, uint32_t rank) {
  return slicePlan(plan.index, FingerprintTree(plan.index), rank);
}

/// Operations as text, with names in place of numbers.
std::string spell(const PlanIndex &index, uint32_t rank) {
  const Participant participant = index.participant(rank);
  const fb::Program &program = index.program(participant.program);
  std::string out;
  for (Side side : {Side::Prev, Side::Curr})
    for (Holding holding : index.holdings(participant.program, side))
      out += text(index.describeTensor(holding.tensor), " ",
                  index.shardBytes(holding.shard), "\n");
  for (const fb::Round *round : *program.rounds()) {
    out += "round\n";
    for (const fb::Op *op : *round->ops()) {
      out += text(fb::EnumNameOpKind(op->kind()), " ", op->from_curr(), " ",
                  index.describeTensor(op->tensor()), " ",
                  index.describeTensor(op->source()));
      if (op->kind() != fb::OpKind::release)
        out += etc::describe(index.opBox(*op));
      if (op->kind() == fb::OpKind::send || op->kind() == fb::OpKind::recv)
        out += text(" ", program.peers()
                             ->Get(op->peer())
                             ->devices()
                             ->Get(participant.replica));
      out += "\n";
    }
  }
  return out;
}

void expectSlices(fb::PlanT made) {
  const Opened plan(std::move(made));
  for (uint32_t rank = 0; rank != plan.index.rankCount(); ++rank) {
    const Opened slice(sliceOf(plan, rank));
    EXPECT_EQ(judgeFile(slice.bytes), "");
    EXPECT_EQ(fingerprint(slice.index), fingerprint(plan.index));
    EXPECT_EQ(slice.index.participants(), plan.index.participants());
    EXPECT_EQ(slice.index.nodes(), plan.index.nodes());
    EXPECT_EQ(spell(slice.index, rank), spell(plan.index, rank));
    for (uint32_t other = 0; other != plan.index.rankCount(); ++other)
      EXPECT_EQ(slice.index.hasProgramOf(other), other == rank);
  }
}

TEST(SliceTest, DoesWhatThePlanDoes) {
  expectSlices(twoStagePlan());
  expectSlices(relayPlan());
  expectSlices(certifiedPlan());
}

TEST(SliceTest, PlansOfOneContentHaveOneFingerprint) {
  const Opened plan(twoStagePlan()), same(twoStagePlan()), other(relayPlan()),
      certified(certifiedPlan());
  EXPECT_EQ(fingerprint(plan.index), fingerprint(same.index));
  EXPECT_NE(fingerprint(plan.index), fingerprint(other.index));
  // A slice leaves certificates out; the plan is another with them.
  EXPECT_NE(fingerprint(plan.index), fingerprint(certified.index));
}

TEST(SliceTest, WhatIsChangedIsFound) {
  const Opened plan(twoStagePlan()), written(sliceOf(plan, 1));
  const std::function<void(fb::PlanT &)> changes[] = {
      [](fb::PlanT &p) { p.model = "other"; },
      [](fb::PlanT &p) { p.curr->order = fb::RankOrder::tp_cp_ep_pp_dp; },
      [](fb::PlanT &p) { p.vocab = 5; },
      [](fb::PlanT &p) { ++p.summary->moved_bytes; },
      [](fb::PlanT &p) { p.forecast[1].mutate_moved_bytes(1); },
      [](fb::PlanT &p) { p.programs[0]->peers[0]->devices = {2}; },
      [](fb::PlanT &p) { p.programs[0]->curr_role.reset(); },
      [](fb::PlanT &p) { p.tensors.front()->name = "other"; },
      [](fb::PlanT &p) {
        p.slice->nodes = {1, 4};
      },
      [](fb::PlanT &p) { ++p.slice->rest; },
      [](fb::PlanT &p) { ++p.slice->path.back(); },
      [](fb::PlanT &p) { ++p.slice->fingerprint; },
      [](fb::PlanT &p) { std::swap(p.slice->path[0], p.slice->path[1]); },
  };
  for (size_t i = 0; i != std::size(changes); ++i) {
    fb::PlanT slice;
    written.file.plan().UnPackTo(&slice);
    changes[i](slice);
    EXPECT_TRUE(judgeFile(packPlan(std::move(slice)))
                    .starts_with("slice.fingerprint: the slice is not of"))
        << i;
  }
}

TEST(SliceTest, MalformedSlices) {
  const Opened plan(twoStagePlan()), written(sliceOf(plan, 1));
  struct Case {
    std::function<void(fb::PlanT &)> change;
    const char *message;
  };
  const Case cases[] = {
      {[](fb::PlanT &p) { p.features = 0; },
       "features: a slice has flag 1, and no other plan"},
      {[](fb::PlanT &p) { p.slice.reset(); },
       "features: a slice has flag 1, and no other plan"},
      {[](fb::PlanT &p) {
         p.participants = {0, 1, 2, 3};
       },
       "participants: a slice leaves it out"},
      {[](fb::PlanT &p) { p.curr_placement = {0}; },
       "curr_placement: a slice leaves it out"},
      {[](fb::PlanT &p) { p.slice->rank = 4; },
       "slice.rank: 4 is not in [0, 4)"},
      {[](fb::PlanT &p) { p.slice->rank = 2; },
       "slice.rank: rank 2 is device 2, which has no program"},
      {[](fb::PlanT &p) {
         p.slice->participants = {0, 4, 3, 5};
       },
       "slice.participants[2]: spans ascend and are not empty"},
      {[](fb::PlanT &p) { p.slice->participants = {0}; },
       "slice.participants: an odd number of entries"},
      {[](fb::PlanT &p) {
         p.slice->participants = {0, ~0u};
       },
       "slice.participants: more than 16777216 devices"},
      {[](fb::PlanT &p) {
         p.slice->nodes = {~0u, 2};
       },
       "slice.nodes[0]: 4294967295 nodes, a run has 1 to 16777216"},
      {[](fb::PlanT &p) {
         p.slice->nodes = {2, 1};
       },
       "participants[3]: 3 is not in [0, 2)"},
      {[](fb::PlanT &p) { p.slice->path.pop_back(); },
       "slice.path: 1 hashes do not reach the root"},
      {[](fb::PlanT &p) { p.slice->path.push_back(1); },
       "slice.path: 3 hashes, the root is reached by 2"},
      {[](fb::PlanT &p) { p.forecast.clear(); },
       "forecast: 0 entries, the program has 2 rounds"},
  };
  for (const Case &each : cases) {
    fb::PlanT slice;
    written.file.plan().UnPackTo(&slice);
    each.change(slice);
    EXPECT_EQ(judgeFile(packPlan(std::move(slice))), each.message);
  }
}

} // namespace
