// Values by formula, and whole migrations in one process.

#include "PlanFixture.h"

#include "core/device/HostWorker.h"
#include "core/engine/LocalRun.h"
#include "core/memory/HostAllocator.h"
#include "core/transport/ForwardingTransport.h"
#include "core/transport/LocalTransport.h"
#include "state/synthetic/StateCheck.h"
#include "state/synthetic/SyntheticState.h"

#include <gtest/gtest.h>

#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <thread>

using namespace etc;
using namespace etc::runtime;
using namespace etc::plan::test;
namespace fb = etc::plan::fb;

namespace {

/// A plan in memory, with its index.
class OpenPlan {
public:
  explicit OpenPlan(fb::PlanT plan)
      : bytes(etc::plan::packPlan(std::move(plan))),
        index(*fb::GetPlan(bytes.data())) {}

private:
  std::vector<uint8_t> bytes;

public:
  PlanIndex index;
};

template <typename T>
std::vector<T> generate(const PlanIndex &index, uint32_t tensor, uint64_t first,
                        uint64_t count) {
  std::vector<T> values(count);
  Formula(index, tensor)
      .generate(first, count, reinterpret_cast<std::byte *>(values.data()));
  return values;
}

fb::PlanT planWithTypes() {
  fb::PlanT plan = twoStagePlan();
  PlanBuilder builder;
  builder.plan = std::move(plan);
  builder.tensor("a", "fp64", fb::DType::fp64, {1 << 16});
  builder.tensor("a", "fp32", fb::DType::fp32, {1 << 16});
  builder.tensor("a", "fp16", fb::DType::fp16, {1 << 16});
  builder.tensor("a", "bf16", fb::DType::bf16, {1 << 16});
  builder.tensor("a", "i64", fb::DType::i64, {1 << 16});
  builder.tensor("a", "u8", fb::DType::u8, {1 << 16});
  return std::move(builder.plan);
}

TEST(Formula, FloatsAreFiniteAndBelowOne) {
  OpenPlan plan(planWithTypes());
  constexpr uint64_t count = 1 << 16;
  auto isInRange = [](double value) { return value >= -1 && value < 1; };
  for (double value : generate<double>(plan.index, 5, 0, count))
    ASSERT_TRUE(isInRange(value)) << value;
  for (float value : generate<float>(plan.index, 6, 0, count))
    ASSERT_TRUE(isInRange(value)) << value;
  for (uint16_t bits : generate<uint16_t>(plan.index, 7, 0, count))
    ASSERT_TRUE((bits & 0x7fff) < 0x3c00 || bits == 0xbc00) << bits;
  for (uint16_t bits : generate<uint16_t>(plan.index, 8, 0, count))
    ASSERT_TRUE(isInRange(std::bit_cast<float>(uint32_t(bits) << 16))) << bits;
}

TEST(Formula, ElementsDependOnTheirIndexOnly) {
  OpenPlan plan(planWithTypes());
  auto all = generate<int64_t>(plan.index, 9, 0, 100);
  auto some = generate<int64_t>(plan.index, 9, 40, 10);
  EXPECT_TRUE(std::equal(some.begin(), some.end(), all.begin() + 40));
  EXPECT_NE(all[0], all[1]);
}

TEST(Formula, TiedCopiesAreEqualAndTypesDiffer) {
  OpenPlan plan(twoStagePlan());
  EXPECT_EQ(generate<uint16_t>(plan.index, 0, 0, 24),
            generate<uint16_t>(plan.index, 4, 0, 24));
  OpenPlan types(planWithTypes());
  EXPECT_NE(generate<uint16_t>(types.index, 7, 0, 24),
            generate<uint16_t>(types.index, 8, 0, 24));
}

TEST(Formula, DerivedTypesAreCastFromTheirSource) {
  OpenPlan plan(twoStagePlan());
  auto params = generate<uint16_t>(plan.index, 1, 0, 16);
  auto masters = generate<float>(plan.index, 2, 0, 16);
  for (size_t i = 0; i != params.size(); ++i)
    EXPECT_EQ(params[i], castToBf16(masters[i]));
}

TEST(StateCheck, NamesTheFirstWrongElement) {
  OpenPlan plan(twoStagePlan());
  Box bounds{{3, 6}, {0, 4}};
  std::vector<uint16_t> rows(12);
  auto *data = reinterpret_cast<std::byte *>(rows.data());
  fillRegion(plan.index, 0, etc::plan::Side::Curr, {data, bounds});
  auto check = [&] {
    return checkRegion(plan.index, 0, etc::plan::Side::Curr, {data, bounds});
  };
  EXPECT_TRUE(check().ok());
  EXPECT_EQ(rows[8] | rows[9] | rows[10] | rows[11], 0); // row 5 is padding

  rows[11] = 0x1234;
  EXPECT_EQ(check().message(), "embedding.weight (param)[5, 3]: expected "
                               "0x0000, got 0x1234");
  rows[6] ^= 1;
  const std::string place = "embedding.weight (param)[4, 2]: expected 0x";
  EXPECT_EQ(check().message().substr(0, place.size()), place);
}

TEST(StateCheck, PaddingOfTheFirstAxisMovesNothing) {
  OpenPlan plan(twoStagePlan());
  Box before{{0, 5}, {0, 4}}, after{{3, 6}, {0, 4}};
  std::vector<uint16_t> prev(20), curr(12);
  fillRegion(plan.index, 0, etc::plan::Side::Prev,
             {reinterpret_cast<std::byte *>(prev.data()), before});
  fillRegion(plan.index, 0, etc::plan::Side::Curr,
             {reinterpret_cast<std::byte *>(curr.data()), after});
  EXPECT_TRUE(std::equal(prev.begin() + 12, prev.end(), curr.begin()));
}

RunOptions quickly() {
  RunOptions options{.timeout = Milliseconds(20'000)};
  options.keeping.source = &syntheticState();
  return options;
}

void expectProvedRun(fb::PlanT fixture) {
  OpenPlan plan(std::move(fixture));
  Progress progress;
  RunOptions options = quickly();
  options.progress = &progress;
  LocalOutcome outcome = runLocally(plan.index, options);
  ASSERT_EQ(outcome.status.message(), "");
  uint64_t moved = 0;
  for (const DeviceReport &report : outcome.reports) {
    // Threads read each other's tensors: what is staged elsewhere is not here.
    const auto &program = plan.index.program(
        plan.index.participant(*plan.index.rankOf(report.device)).program);
    EXPECT_EQ(report.peakBytes + program.send_slab() + program.recv_slab(),
              report.provedBytes)
        << report.device;
    EXPECT_EQ(report.verified, 1u) << report.device;
    moved += report.receivedBytes;
  }
  EXPECT_EQ(moved, plan.index.plan().summary()->moved_bytes());
  EXPECT_EQ(progress.receivedBytes, moved);
}

TEST(LocalRun, MigratesTwoStages) { expectProvedRun(twoStagePlan()); }

TEST(LocalRun, RelaysAndDerives) { expectProvedRun(relayPlan()); }
TEST(LocalRun, PassesOnWhatItDoesNotKeep) { expectProvedRun(transitPlan()); }

TEST(LocalRun, DerivesFp16) {
  fb::PlanT plan = relayPlan();
  plan.tensors[1]->dtype = fb::DType::fp16;
  ASSERT_EQ(judge(plan), "");
  expectProvedRun(std::move(plan));
}

TEST(LocalRun, ShardsOfSeveralBoxes) {
  // Device 0 gives the rows in two pieces of one shard: [0:2] and [3:4]; row 2
  // is device 1's all along.
  PlanBuilder b;
  uint32_t w = b.tensor("w", "param", fb::DType::fp32, {4, 2});
  uint32_t low = b.box({{0, 2}, {0, 2}}), high = b.box({{3, 4}, {0, 2}});
  uint32_t own = b.box({{2, 3}, {0, 2}});
  fb::ProgramT &giver = b.program(std::nullopt, fb::Role(0, 0, -1), {0}, {{1}});
  giver.prev_shards = {b.shard(w, {{{0, 2}, {0, 2}}, {{3, 4}, {0, 2}}})};
  b.round(giver, {send(0, w, w, low), send(0, w, w, high), release(w)});
  giver.send_slab = 24;
  giver.peak = giver.peak_safe = 48;
  fb::ProgramT &taker =
      b.program(fb::Role(0, 0, -1), fb::Role(1, 0, -1), {1}, {{0}});
  taker.prev_shards = {b.shard(w, {{{2, 3}, {0, 2}}})};
  taker.curr_shards = {b.shard(w, {{{0, 4}, {0, 2}}})};
  b.round(taker, {recv(0, w, w, low), recv(0, w, w, high), refer(w, own)});
  taker.recv_slab = 24;
  taker.peak = taker.peak_safe = 8 + 24 + 32;
  b.plan.nodes = {2};
  b.plan.participants = b.plan.prev_placement = {0, 1};
  b.plan.curr_placement = {1};
  b.plan.prev = grid(/*pp=*/2, 1, 1);
  b.plan.curr = grid(1, 1, 1);
  b.forecast(24, 24);
  b.plan.summary = std::make_unique<fb::SummaryT>();
  b.plan.summary->moved_bytes = 24;
  b.plan.summary->kept_bytes = 8;
  b.plan.summary->max_send_bytes = b.plan.summary->max_recv_bytes = 24;
  ASSERT_EQ(judge(b.plan), "");
  expectProvedRun(std::move(b.plan));
}

TEST(LocalRun, WrongResultsAreFound) {
  // No referee would let this pass: row 2 of the embedding is not kept.
  fb::PlanT broken = twoStagePlan();
  std::vector<fb::Op> &ops = broken.programs[0]->rounds[0]->ops;
  ops[3].mutate_box(ops[2].box());
  OpenPlan plan(std::move(broken));
  LocalOutcome outcome = runLocally(plan.index, quickly());
  EXPECT_EQ(outcome.status.kind(), ErrorKind::Verification);
  EXPECT_NE(outcome.status.message().find(
                ": embedding.weight (param)[2, 0]: expected 0x"),
            std::string::npos)
      << outcome.status.message();
  EXPECT_EQ(outcome.reports[0].verified, 0u);
  EXPECT_EQ(outcome.reports[2].verified, 1u);
}

/// Compares what ranks hand over with the formula; refuses one of them.
class CheckingSink final : public StateSink {
public:
  explicit CheckingSink(std::optional<uint32_t> refused = std::nullopt)
      : refused(refused) {}

  Status write(const PlanIndex &index, uint32_t rank,
               const Read &read) const override {
    if (rank == refused)
      return Status(ErrorKind::Usage, "no room");
    for (const auto &[tensor, shard] :
         index.holdings(index.participant(rank).program, Side::Curr))
      for (uint32_t b = 0; b != index.boxCount(shard); ++b) {
        const BoxView box = index.shardBox(shard, b);
        std::vector<std::byte> bytes(volume(box) * index.elementBytes(tensor));
        if (Status s = read(tensor, {bytes.data(), box}); !s.ok())
          return s;
        if (Status s =
                checkRegion(index, tensor, Side::Curr, {bytes.data(), box});
            !s.ok())
          return s;
        taken += bytes.size();
      }
    return Status::success();
  }

  mutable std::atomic<uint64_t> taken = 0; // bytes

private:
  const std::optional<uint32_t> refused;
};

TEST(LocalRun, HandsTheCurrentStateToASink) {
  OpenPlan plan(twoStagePlan());
  uint64_t expected = 0;
  for (uint32_t rank = 0; rank != plan.index.rankCount(); ++rank)
    for (const auto &[tensor, shard] :
         plan.index.holdings(plan.index.participant(rank).program, Side::Curr))
      expected += plan.index.shardBytes(shard);
  const CheckingSink sink;
  RunOptions options = quickly();
  options.sink = &sink;
  LocalOutcome outcome = runLocally(plan.index, options);
  EXPECT_EQ(outcome.status.message(), "");
  EXPECT_EQ(outcome.told.message(), "");
  EXPECT_EQ(sink.taken, expected);

  // The migration is over: a sink that fails does not change that.
  const CheckingSink full(2);
  options.sink = &full;
  outcome = runLocally(plan.index, options);
  EXPECT_EQ(outcome.status.message(), "");
  EXPECT_EQ(outcome.told.message(), "no room");
}

TEST(LocalRun, MessagesOfOtherBoxesAreRefused) {
  // Rows 0 and 1 are sent where 3 and 4 are expected.
  fb::PlanT broken = twoStagePlan();
  std::vector<fb::Op> &ops = broken.programs[0]->rounds[0]->ops;
  ops[0].mutate_box(ops[2].box());
  OpenPlan plan(std::move(broken));
  LocalOutcome outcome = runLocally(plan.index, quickly());
  EXPECT_EQ(outcome.status.kind(), ErrorKind::Verification);
  // Both replicas send what they should not; one is the first.
  EXPECT_NE(outcome.status.message().find(
                " sent [0:2, 0:4] of embedding.weight (param), [3:5, 0:4] was "
                "expected"),
            std::string::npos)
      << outcome.status.message();
}

/// Notes how long each round may take.
class NotingTransport final : public ForwardingTransport {
public:
  NotingTransport(Transport &inner, std::vector<double> &limits)
      : ForwardingTransport(inner), limits(limits) {}
  Status wait(const Deadline &deadline) override {
    limits.push_back(deadline.seconds());
    return inner.wait(deadline);
  }

private:
  std::vector<double> &limits;
};

TEST(LocalRun, DeferredRoundsMayTakeWhatTheLowestRateTakes) {
  fb::PlanT fixture = deferredPlan();
  fixture.forecast[1].mutate_max_port_bytes(3000);
  OpenPlan plan(std::move(fixture));
  for (auto [rate, tail] : {std::pair(0, 20.0), {1000, 23.0}}) {
    std::vector<double> limits[4];
    RunOptions options = quickly();
    options.slowestTail = rate;
    options.wrap = [&](Transport &inner, uint32_t device) {
      return std::make_unique<NotingTransport>(inner, limits[device]);
    };
    ASSERT_EQ(runLocally(plan.index, options).status.message(), "");
    for (const auto &ofDevice : limits)
      EXPECT_EQ(ofDevice, (std::vector{20.0, tail}));
  }
}

TEST(LocalTransport, TimesOutWithTheDevicesName) {
  LocalCluster cluster({4, 9});
  std::vector<std::byte> landing(8);
  WritableBytes piece = landing;
  std::vector<Incoming> incoming{{1, 8, {&piece, 1}, {}}};
  ASSERT_TRUE(cluster.transport(0).post({}, incoming).ok());
  Status status = cluster.transport(0).wait(Milliseconds(50));
  EXPECT_EQ(status.kind(), ErrorKind::Peer);
  EXPECT_EQ(status.message(), "no message from device 9 within 0.05 s");
}

TEST(LocalTransport, AbortEndsEveryWait) {
  LocalCluster cluster({4, 9});
  std::jthread other([&] { cluster.transport(1).abort(); });
  Status status = cluster.control(0).receive(1, {}, Milliseconds(20'000));
  EXPECT_EQ(status.message(), "stopped, since another device failed");
}

TEST(HostWorker, ManyFindRoomInOneAddressSpace) {
  std::vector<std::unique_ptr<Worker>> workers;
  for (int i = 0; i != 130; ++i) {
    workers.push_back(makeHostWorker());
    Result<Buffer> buffer = workers.back()->allocator().allocate(1);
    ASSERT_TRUE(buffer.ok()) << i << ": " << buffer.status().message();
    workers.back()->allocator().release(*buffer);
  }
}

TEST(HostAllocator, CountsWhatLives) {
  HostAllocator allocator;
  Buffer small = *allocator.allocate(10), large = *allocator.allocate(3 << 20);
  allocator.release(small);
  Buffer other = *allocator.allocate(7);
  EXPECT_EQ(allocator.liveBytes(), (3u << 20) + 7);
  EXPECT_EQ(allocator.highWater(), (3u << 20) + 10);
  allocator.release(large);
  allocator.release(other);
  EXPECT_EQ(allocator.liveBytes(), 0u);
  Result<Buffer> huge = allocator.allocate(uint64_t{1} << 60);
  EXPECT_EQ(huge.status().message(),
            "cannot allocate 1152921504606846976 bytes of host memory; use a "
            "machine with more, or raise the limit (ulimit -v)");
  EXPECT_EQ(allocator.liveBytes(), 0u);
}

} // namespace
