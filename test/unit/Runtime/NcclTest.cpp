// NCCL's transport over the test double, and whole migrations.

#include "NcclFixture.h"
#include "PlanFixture.h"

#include "../../faults/RingPlan.h"
#include "core/engine/DeviceRun.h"
#include "core/transport/Collectives.h"
#include "core/transport/GpuPlace.h"
#include "state/synthetic/SyntheticState.h"

#include <cstring>
#include <latch>
#include <thread>

using namespace etc::runtime;
using namespace etc::plan::test;
using namespace etc::test;

namespace {

RunOptions quickly() {
  RunOptions options{.timeout = Milliseconds(20'000), .ceiling = true};
  options.keeping.source = &syntheticState();
  return options;
}

unsigned handshakes() { return ETC_OF_NCCL_DOUBLE(etcDoubleHandshakes)(); }

TEST_F(NcclTest, NcclMigrates) {
  for (auto plan : {twoStagePlan(), relayPlan(), transitPlan()}) {
    OpenPlan open(std::move(plan));
    std::vector<DeviceReport> reports(open.index.rankCount());
    std::latch arePrepared(open.index.rankCount());
    auto statuses =
        onRanks(open.index.rankCount(), Milliseconds(20'000),
                [&](Transport &transport, uint32_t rank, Control &control) {
                  auto worker = std::move(*makeCudaWorker(rank));
                  DeviceRun run(open.index, rank, control, transport, *worker,
                                quickly());
                  Status status = run.prepare();
                  arePrepared.arrive_and_wait();
                  unsigned before = handshakes();
                  if (status.ok())
                    status = run.migrate();
                  EXPECT_EQ(handshakes(), before) << "connected in a round";
                  if (status.ok())
                    status = run.verify();
                  reports[rank] = run.report();
                  return status;
                });
    for (uint32_t rank = 0; rank != statuses.size(); ++rank) {
      EXPECT_EQ(statuses[rank].message(), "") << rank;
      EXPECT_EQ(reports[rank].verified, 1u) << rank;
      EXPECT_EQ(reports[rank].peakBytes, reports[rank].provedBytes) << rank;
      // The double takes no memory of the device; the migration does.
      EXPECT_EQ(reports[rank].transportBytes, 0u) << rank;
      EXPECT_GT(reports[rank].heldBytes, 0u) << rank;
    }
  }
}

/// 9.6 MB a channel and rank, from rings and trees that are connected at once
/// up to 2.21.
TEST(NcclChannels, AreAsManyAsNvlinkUsesAndMemoryAllows) {
  const NodeTraffic unknown{}, one{3, true}, crowded{7, true}, many{4, true};
  const NodeTraffic between{2, false}, apart{0, false};
  EXPECT_EQ(channelsFor(unknown, 22809), 8);
  EXPECT_EQ(channelsFor(one, 22809), 32);
  EXPECT_EQ(channelsFor(one, 22105), 8);
  EXPECT_EQ(channelsFor(many, 22809), 16);
  EXPECT_EQ(channelsFor(crowded, 23007), 16);
  EXPECT_EQ(channelsFor(between, 23007), 16);
  EXPECT_EQ(channelsFor(apart, 23007), 8);
}

TEST_F(NcclTest, PairsHaveAllChannelsInLargeJobsToo) {
  onRanks(2, Milliseconds(20'000),
          [](Transport &, uint32_t, Control &) { return Status::success(); });
  EXPECT_EQ(ETC_OF_NCCL_DOUBLE(etcDoubleChannelsAPair)(), 8u);
}

/// A trainer's tensors: they are there, and nobody fills them.
class TrainersState final : public StateSource {
public:
  Result<uint64_t> read(const PlanIndex &, uint32_t, uint32_t,
                        Region) const override {
    return 0;
  }
  Status check(const PlanIndex &, uint32_t, uint32_t,
               ConstRegion) const override {
    return Status::success();
  }
};

/// What torch does when a trainer looks at another GPU.
void leaveContext() { (*cuda::findDriver()).cuCtxSetCurrent(nullptr); }

TEST_F(NcclTest, AnotherThreadMayGoOn) {
  for (auto plan : {twoStagePlan(), relayPlan(), transitPlan()}) {
    OpenPlan open(std::move(plan));
    const TrainersState state;
    auto statuses = onRanks(
        open.index.rankCount(), Milliseconds(20'000),
        [&](Transport &transport, uint32_t rank, Control &control) {
          auto worker = std::move(*makeCudaWorker(rank));
          RunOptions options{.timeout = Milliseconds(20'000),
                             .verify = Verify::Checksum};
          options.keeping.source = &state;
          DeviceRun run(open.index, rank, control, transport, *worker, options);
          leaveContext();
          Status status = run.prepare();
          leaveContext();
          if (status.ok())
            std::jthread([&] { status = run.migrate(); });
          return status;
        });
    for (const Status &status : statuses)
      EXPECT_EQ(status.message(), "");
  }
}

TEST_F(NcclTest, AWorkerMakesNoRoomWhileATransferIsUnderWay) {
  auto statuses =
      onRanks(2, Milliseconds(20'000),
              [&](Transport &transport, uint32_t rank, Control &) {
                const uint32_t other = 1 - rank;
                if (Status s = transport.prepare({{&other, 1}, {&other, 1}},
                                                 Milliseconds(20'000));
                    !s.ok() || rank == 1)
                  return s;
                auto worker = std::move(*makeCudaWorker(rank));
                if (Status s = worker->reserveMoves(1000, 8); !s.ok())
                  return s;
                std::byte *bytes = takeGpuMemory(rank, 64);
                WritableBytes piece{takeGpuMemory(rank, 8), 8};
                Incoming message{1, 8, {&piece, 1}, {}};
                if (Status s = transport.post({}, {&message, 1}); !s.ok())
                  return s;
                std::vector<Move> moves(1000, hashMove(bytes, 64));
                for (Move &move : moves)
                  move.sum = 7;
                std::vector<uint64_t> sums(8);
                Status status = worker->run(moves, sums);
                EXPECT_TRUE(transport.stop());
                return status;
              });
  EXPECT_EQ(statuses[0].message(), "");
}

TEST_F(NcclTest, AWaitEndsAtItsDeadline) {
  // Rank 1 is there, but never sends. A send might end in a buffer.
  auto statuses =
      onRanks(2, Milliseconds(20'000),
              [&](Transport &transport, uint32_t rank, Control &) {
                if (Status s = connectBoth(transport, rank); !s.ok())
                  return s;
                if (rank == 1) {
                  std::this_thread::sleep_for(Milliseconds(300));
                  return Status::success();
                }
                WritableBytes piece{takeGpuMemory(rank, 8), 8};
                Incoming message{1, 8, {&piece, 1}, {}};
                if (Status s = transport.post({}, {&message, 1}); !s.ok())
                  return s;
                return transport.wait(Milliseconds(50));
              });
  EXPECT_EQ(statuses[0].kind(), ErrorKind::Peer);
  EXPECT_EQ(statuses[0].message(), "NCCL: no end of a transfer within 0.05 s");
  EXPECT_EQ(statuses[1].message(), "");
}

TEST_F(NcclTest, TwoRanksOnOneGpuAreNamed) {
  const auto statuses = onRanks(
      3, Milliseconds(20'000),
      [](Transport &, uint32_t, Control &) { return Status::success(); },
      /*firstGpu=*/0, /*gpus=*/2);
  for (const Status &status : statuses) {
    EXPECT_EQ(status.kind(), ErrorKind::Usage);
    EXPECT_TRUE(status.message().starts_with(
        "rank 0 (device 2) and rank 2 (device 8) are both on GPU 0000:00:00.0"))
        << status.message();
  }
}

GpuPlace place(const char *host, const char *bus, unsigned char uuid) {
  GpuPlace place{};
  std::strncpy(place.host, host, sizeof place.host - 1);
  std::strncpy(place.bus, bus, sizeof place.bus - 1);
  place.uuid.bytes[15] = uuid;
  return place;
}

TEST(GpuPlace, PartitionsOfAGpuAreTakenForIt) {
  const GpuPlace whole[] = {place("a", "0", 1), place("a", "1", 2),
                            place("b", "0", 1)};
  const GpuPlace parts[] = {place("a", "0", 1), place("b", "0", 2),
                            place("a", "0", 3)};
  const GpuPlace same[] = {parts[0], parts[1], parts[2], place("b", "0", 2)};
  for (int version : {22809, 23004, 23007, 23200}) {
    EXPECT_FALSE(findTwins(whole, version));
    EXPECT_EQ(findTwins(parts, version).has_value(), version < 23007);
    const auto twins = findTwins(same, version);
    ASSERT_TRUE(twins);
    EXPECT_EQ(twins->arePartitions, version < 23007);
    EXPECT_EQ(twins->first, version < 23007 ? 0u : 1u);
    EXPECT_EQ(twins->second, version < 23007 ? 2u : 3u);
  }
}

/// A call that NCCL refuses.
TEST_F(NcclTest, AGroupEndsAfterAnErrorToo) {
  auto statuses =
      onRanks(2, Milliseconds(20'000),
              [&](Transport &transport, uint32_t rank, Control &) {
                if (Status s = connectBoth(transport, rank); !s.ok())
                  return s;
                WritableBytes piece{takeGpuMemory(rank, 8), 8};
                Incoming message{/*peer=*/5, 8, {&piece, 1}, {}};
                Status status = transport.post({}, {&message, 1});
                EXPECT_EQ(ETC_OF_NCCL_DOUBLE(etcDoubleOpenGroups)(), 0u);
                return status;
              });
  for (const Status &status : statuses)
    EXPECT_EQ(status.kind(), ErrorKind::Peer);
}

/// An error of the GPU is no transfer that has come.
TEST_F(NcclTest, AWaitSaysThatTheDeviceHasFailed) {
  constexpr unsigned kGpu = 6; // broken from here on, as a real one would be
  auto statuses = onRanks(
      2, Milliseconds(20'000),
      [&](Transport &transport, uint32_t rank, Control &control) {
        if (Status s = connectBoth(transport, rank); !s.ok())
          return s;
        while (rank == 1 && control.check().ok())
          std::this_thread::sleep_for(Milliseconds(5));
        if (rank == 1)
          return control.check();
        auto worker = std::move(*makeCudaWorker(kGpu));
        if (Status s = worker->reserveMoves(1, 0); !s.ok())
          return s;
        WritableBytes piece{takeGpuMemory(kGpu, 8), 8};
        Incoming message{1, 8, {&piece, 1}, {}};
        if (Status s = transport.post({}, {&message, 1}); !s.ok())
          return s;
        // Of the other GPU.
        const Move wild = hashMove(takeGpuMemory(kGpu + 1, 8), 8);
        EXPECT_FALSE(worker->run({&wild, 1}, {}).ok());
        Status status = transport.wait(Milliseconds(20'000));
        control.abort("a sticky error");
        (void)transport.stop();
        return status;
      },
      kGpu);
  EXPECT_TRUE(
      statuses[0].message().starts_with("NCCL: CUDA: a transfer failed"))
      << statuses[0].message();
  EXPECT_NE(takeFault(), "");
}

/// Nobody aborts the other end, so the device goes on with what it has.
TEST_F(NcclTest, MemoryOfADeviceThatDoesNotStopStays) {
  const OpenPlan plan(ringPlan(2, 2, 100));
  std::atomic<bool> isOver{false};
  auto statuses = onRanks(
      2, Milliseconds(20'000),
      [&](Transport &transport, uint32_t rank, Control &control) {
        if (rank == 1) {
          Status status = connectBoth(transport, rank);
          for (int i = 0; i != 2 && status.ok(); ++i) // connected, begun
            status = barrier(control, {1, 2}, Milliseconds(20'000));
          while (!isOver)
            std::this_thread::sleep_for(Milliseconds(5));
          return status;
        }
        auto worker = std::move(*makeCudaWorker(rank));
        RunOptions options{.timeout = Milliseconds(500)};
        options.keeping.source = &syntheticState();
        auto run = std::make_unique<DeviceRun>(plan.index, rank, control,
                                               transport, *worker, options);
        Status status = run->prepare();
        if (status.ok())
          status = run->migrate();
        const unsigned pages = ETC_OF_CUDA_DOUBLE(etcDoubleMappedPages)();
        EXPECT_GT(pages, 0u);
        run.reset();
        worker.reset();
        EXPECT_EQ(ETC_OF_CUDA_DOUBLE(etcDoubleMappedPages)(), pages);
        EXPECT_EQ(takeFault(), "") << "before the other end is gone";
        isOver = true;
        return status;
      });
  EXPECT_EQ(statuses[0].kind(), ErrorKind::Peer) << statuses[0].message();
  EXPECT_EQ(statuses[1].message(), "");
}

TEST_F(NcclTest, ACommunicatorEndsWhileAllAreThere) {
  auto statuses =
      onRanks(3, Milliseconds(20'000),
              [&](Transport &transport, uint32_t rank, Control &) {
                const uint32_t next = (rank + 1) % 3, last = (rank + 2) % 3;
                if (Status s = transport.prepare({{&next, 1}, {&last, 1}},
                                                 Milliseconds(20'000));
                    !s.ok())
                  return s;
                transport.finish(Milliseconds(20'000));
                return transport.wait(Milliseconds(1)); // of no more use
              });
  for (const Status &status : statuses)
    EXPECT_EQ(status.message(), "NCCL: the communicator was aborted");
}

} // namespace
