// What the C API does, over the doubles of the CUDA driver and of NCCL.

#include "TrainerNcclFixture.h"

#include "../../faults/RingPlan.h"

using namespace etc;
using namespace etc::runtime;
using namespace etc::runtime::test;

namespace {

TEST_F(TrainerNcclTest, MigratesOnAnotherThreadThanPrepared) {
  auto statuses = onRanks([&](Migration &migration, uint32_t rank) {
    const OnAnotherGpu before;
    Status status = migration.run();
    return status.ok() ? check(migration, rank) : status;
  });
  for (const Status &status : statuses)
    EXPECT_EQ(status.message(), "");
}

/// The double reports memory that is allocated while a transfer is under way.
TEST_F(TrainerNcclTest, ATrainersAllocatorMayWaitForTheDevice) {
  // What goes in round 0 makes room for later rounds to begin early.
  auto opened = OpenPlan::copy(etc::plan::packPlan(
      roomy(ringPlan(4, 6, 100, /*dropped=*/4096), ~size_t{0}, /*room=*/0)));
  ASSERT_TRUE(opened) << opened.status().message();
  plan = *opened;
  for (etc_mode mode : {ETC_EAGER, ETC_SAFE}) {
    auto statuses = onRanks(
        [&](Migration &migration, uint32_t rank) {
          Status status = migration.run();
          return status.ok() ? check(migration, rank) : status;
        },
        mode, /*ownsMemory=*/true);
    for (const Status &status : statuses)
      EXPECT_EQ(status.message(), "");
    for (const auto &entry : std::filesystem::directory_iterator(directory))
      std::filesystem::remove_all(entry);
  }
}

/// What a framework does meanwhile: groups of its own communicator on its own
/// stream, several in a row, which the host does not wait for.
class Training {
public:
  explicit Training(std::vector<uint32_t> devices)
      : devices(std::move(devices)), cluster(this->devices) {}

  /// `steps` groups, two of them under way at a time.
  Status run(uint32_t rank, int steps) {
    NcclOptions options;
    options.rank = options.ordinal = rank;
    options.devices = devices;
    options.deadline = options.timeout = Milliseconds(20'000);
    options.lastWait = Milliseconds(1000);
    options.control = &cluster.control(rank);
    auto made = connectNccl(options);
    if (!made)
      return made.status();
    Transport &transport = **made;
    const auto count = static_cast<uint32_t>(devices.size());
    const uint32_t next = (rank + 1) % count, last = (rank + count - 1) % count;
    if (Status s =
            transport.prepare({{&next, 1}, {&last, 1}}, options.deadline);
        !s.ok())
      return s;
    constexpr size_t bytes = 4096;
    const Bytes piece{etc::test::takeGpuMemory(rank, bytes), bytes};
    const WritableBytes room{etc::test::takeGpuMemory(rank, bytes), bytes};
    const Outgoing out{next, bytes, {&piece, 1}, {}};
    Incoming in{last, bytes, {&room, 1}, {}};
    for (int step = 0; step != steps + 1; ++step) {
      if (step != steps)
        if (Status s = transport.post({&out, 1}, {&in, 1}); !s.ok())
          return s;
      if (step != 0)
        if (Status s = transport.wait(options.timeout); !s.ok())
          return s;
    }
    transport.finish(options.timeout); // others may still receive
    return Status::success();
  }

private:
  const std::vector<uint32_t> devices;
  LocalCluster cluster;
};

/// The rounds from `urgent` on, and what they move, are deferred.
etc::plan::fb::PlanT defer(etc::plan::fb::PlanT plan, uint32_t urgent) {
  plan.deferred_rounds = plan.forecast.size() - urgent;
  for (auto &program : plan.programs) {
    for (size_t round = urgent; round != program->rounds.size(); ++round)
      for (auto &op : program->rounds[round]->ops)
        plan.tensors[op.tensor()]->deferred = true;
    program->tail_peak = program->peak;
    program->tail_peak_safe = program->peak_safe;
  }
  return plan;
}

/// Nothing that the device does in the tail waits for a peer, so the tail ends
/// beside any number of training's groups, in one queue with them too.
TEST_F(TrainerNcclTest, ATailBesideTrainingEnds) {
  for (bool hasOneQueue : {false, true})
    for (etc_mode mode : {ETC_EAGER, ETC_SAFE}) {
      // Pieces that are packed, and pieces that are tensors.
      const int64_t rows = hasOneQueue ? 100 : 70'000;
      auto opened =
          OpenPlan::copy(etc::plan::packPlan(defer(ringPlan(4, 6, rows), 2)));
      ASSERT_TRUE(opened) << opened.status().message();
      plan = *opened;
      ETC_OF_CUDA_DOUBLE(etcDoubleOneQueue)(hasOneQueue);
      Training training(index().participants());
      auto statuses = onRanks(
          [&](Migration &migration, uint32_t rank) {
            if (Status s = migration.run(); !s.ok())
              return s;
            Status trained = training.run(rank, 20);
            Status status = migration.finish();
            if (status.ok())
              status = check(migration, rank);
            return status.ok() ? trained : status;
          },
          mode);
      ETC_OF_CUDA_DOUBLE(etcDoubleOneQueue)(false);
      for (const Status &status : statuses)
        EXPECT_EQ(status.message(), "");
      for (const auto &entry : std::filesystem::directory_iterator(directory))
        std::filesystem::remove_all(entry);
    }
}

/// Over NCCL parameters have a pause: they would wait behind training.
TEST_F(TrainerNcclTest, DoesNotStartBesideTraining) {
  auto statuses = onRanks([](Migration &migration, uint32_t) {
    Status refused = migration.start();
    EXPECT_EQ(refused.kind(), ErrorKind::Usage);
    return migration.run();
  });
  for (const Status &status : statuses)
    EXPECT_EQ(status.message(), "");
}

TEST_F(TrainerNcclTest, AllLearnThatOneGivesUp) {
  auto statuses = onRanks([&](Migration &migration, uint32_t rank) {
    if (rank == 3)
      migration.abort("allocate raised MemoryError: no room");
    Status status = rank == 3 ? Status::success() : migration.run();
    EXPECT_EQ(migration.outcome(), ETC_NOT_BEGUN);
    return status;
  });
  for (uint32_t rank = 0; rank != 3; ++rank) {
    EXPECT_EQ(statuses[rank].kind(), ErrorKind::Peer);
    EXPECT_EQ(statuses[rank].message(),
              "device 3: allocate raised MemoryError: no room");
  }
}

TEST_F(TrainerNcclTest, SafeModeKeepsThePreviousState) {
  quitter = 3;
  auto statuses = onRanks(
      [&](Migration &migration, uint32_t rank) {
        Status status = migration.run();
        EXPECT_EQ(migration.outcome(), ETC_OLD);
        checkPrev(migration, rank);
        return status;
      },
      ETC_SAFE);
  for (const Status &status : statuses)
    EXPECT_EQ(status.message(), "device 3: a cause");
}

/// A recovery needs the room.
TEST_F(TrainerNcclTest, MemoryThatHoldsNothingGoesAfterAnError) {
  quitter = 3;
  for (etc_mode mode : {ETC_SAFE, ETC_EAGER}) {
    auto statuses = onRanks(
        [&](Migration &migration, uint32_t rank) {
          Status status = migration.run();
          const uint32_t program = index().participant(rank).program;
          std::set<const void *> holding;
          for (const HeldShard &held :
               heldShards(index(), program, migration.standing()))
            if (held.side != Side::Prev && !held.isBound &&
                index().shardBytes(held.shard) > 0)
              holding.insert(migration.find(held));
          EXPECT_EQ(ledgers[rank].taken, holding);
          if (mode == ETC_SAFE)
            checkPrev(migration, rank);
          return status;
        },
        mode, /*ownsMemory=*/true);
    for (const Status &status : statuses)
      EXPECT_EQ(status.message(), "device 3: a cause");
    for (const Ledger &ledger : ledgers)
      EXPECT_EQ(ledger.taken.size(), 0u);
    for (const auto &entry : std::filesystem::directory_iterator(directory))
      std::filesystem::remove_all(entry);
  }
}

TEST_F(TrainerNcclTest, RoundsWithoutHashesAreRightToo) {
  const uint32_t count = index().rankCount();
  auto statuses = etc::test::onRanks(
      count, Milliseconds(20'000),
      [&](Transport &transport, uint32_t rank, Control &control) {
        auto gpu = std::move(*makeCudaWorker(rank));
        const uint32_t program = index().participant(rank).program;
        CallerMemory memory(index(), program, {}, gpu->allocator());
        size_t position = 0;
        for (Holding holding : index().holdings(program, Side::Prev))
          memory.registerPrev(position++,
                              etc::test::takeGpuMemory(
                                  rank, index().shardBytes(holding.shard)));
        EXPECT_EQ(memory.complete().message(), "");
        CallerWorker worker(*gpu, memory);
        RunOptions options{.timeout = Milliseconds(20'000)};
        options.keeping.source = &syntheticState();
        options.verify = Verify::Off;
        DeviceRun run(index(), rank, control, transport, worker, options);
        Status status = run.prepare();
        if (status.ok())
          status = run.migrate();
        return status.ok()
                   ? check(rank,
                           [&](size_t at) { return memory.current(at).first; })
                   : status;
      });
  for (const Status &status : statuses)
    EXPECT_EQ(status.message(), "");
}

} // namespace
