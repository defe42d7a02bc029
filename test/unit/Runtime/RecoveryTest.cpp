// Migrations that fail, go on or go back, in one process: P1, P2, P5, P6 and P7
// of docs/reliability.md.

#include "CheckpointFixture.h"
#include "PlanFixture.h"

#include "core/engine/LocalRun.h"
#include "core/transport/ForwardingTransport.h"
#include "recovery/RollBack.h"
#include "state/inventory/Inventory.h"
#include "state/source/StateFiles.h"
#include "state/synthetic/StateCheck.h"
#include "state/synthetic/SyntheticState.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <map>

using namespace etc;
using namespace etc::runtime;
using namespace etc::plan::test;

namespace {

/// Fails instead of one group of messages.
class BrokenTransport final : public ForwardingTransport {
public:
  BrokenTransport(Transport &inner, uint32_t groups)
      : ForwardingTransport(inner), left(groups) {}

  Status post(std::span<const Outgoing> outgoing,
              std::span<Incoming> incoming) override {
    return left-- == 0 ? Status(ErrorKind::Peer, "broken")
                       : inner.post(outgoing, incoming);
  }

private:
  uint32_t left;
};

class RecoveryTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "etc-recovery-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory = pattern;
    options = {};
    options.timeout = Milliseconds(20'000);
    options.keeping.journals = options.keeping.state = directory;
    options.keeping.source = &syntheticState();
  }
  void TearDown() override { std::filesystem::remove_all(directory); }

  void open(etc::plan::fb::PlanT plan) {
    bytes = etc::plan::packPlan(std::move(plan));
    index.emplace(*etc::plan::fb::GetPlan(bytes.data()));
  }

  /// Runs until `device` fails in its round `round`.
  void failAt(uint32_t device, uint32_t round) {
    RunOptions broken = options;
    broken.wrap = [=](Transport &inner, uint32_t other) {
      return device == other ? std::make_unique<BrokenTransport>(inner, round)
                             : nullptr;
    };
    LocalOutcome outcome = runLocally(*index, broken);
    EXPECT_EQ(outcome.status.message(),
              text("device ", device, ": round ", round, ": broken"));
    read();
  }

  void read() {
    options.keeping.standings.clear();
    for (uint32_t rank = 0; rank != index->rankCount(); ++rank) {
      auto contents = readJournal(journalPath(directory, index->device(rank)));
      ASSERT_TRUE(contents.ok()) << contents.status().message();
      options.keeping.standings.push_back(contents->standing);
    }
  }

  /// That everything the journals name is there and right.
  void checkFiles() {
    for (uint32_t rank = 0; rank != index->rankCount(); ++rank) {
      DeviceFiles files(*index, rank, options.keeping.standings[rank],
                        directory);
      ASSERT_EQ(files.open().message(), "");
      EXPECT_EQ(files.check().message(), "");
    }
  }

  void resume() {
    LocalOutcome outcome = runLocally(*index, options);
    ASSERT_EQ(outcome.status.message(), "");
    for (const DeviceReport &report : outcome.reports)
      EXPECT_EQ(report.verified, 1u);
    read();
    for (const Standing &standing : options.keeping.standings)
      EXPECT_TRUE(standing.isCommitted);
    checkFiles();
  }

  std::string directory;
  std::vector<uint8_t> bytes;
  std::optional<PlanIndex> index;
  RunOptions options;
};

TEST_F(RecoveryTest, EveryPlaceEveryMode) {
  for (Mode mode : {Mode::Eager, Mode::Safe})
    for (uint32_t device = 0; device != 4; ++device)
      for (uint32_t round = 0; round != 2; ++round) {
        TearDown();
        SetUp();
        options.mode = mode;
        SCOPED_TRACE(text("device ", device, ", round ", round));
        open(twoStagePlan());
        failAt(device, round);
        checkFiles();
        resume();
      }
}

/// Another process's damage: a journal cut anywhere, after a whole migration.
TEST_F(RecoveryTest, NoCutJournalIsTakenForWhole) {
  open(twoStagePlan());
  ASSERT_EQ(runLocally(*index, options).status.message(), "");
  const std::string whole = directory + "-whole";
  std::filesystem::rename(directory, whole);
  constexpr auto kDeep = std::filesystem::copy_options::recursive;
  for (uint32_t device = 0; device != 4; ++device)
    for (size_t kept = 40; kept < 40 + 8 * 32; kept += 11) {
      SCOPED_TRACE(text("device ", device, ", ", kept, " bytes"));
      std::filesystem::remove_all(directory);
      std::filesystem::copy(whole, directory, kDeep);
      std::filesystem::resize_file(journalPath(directory, device), kept);
      read();
      const Standing left = options.keeping.standings[device];
      Status resumed = runLocally(*index, options).status;
      EXPECT_EQ(resumed.ok(), left.isPrepared);
      const bool isNamed =
          resumed.message().find("lost its last records") != std::string::npos;
      EXPECT_EQ(isNamed, !left.isPrepared) << resumed.message();
      read();
      if (resumed.ok())
        checkFiles();
    }
  std::filesystem::remove_all(whole);
}

TEST_F(RecoveryTest, RelaysGoOn) {
  open(relayPlan());
  failAt(2, 1);
  checkFiles();
  resume();
}

TEST_F(RecoveryTest, TransitGoesOn) {
  for (Mode mode : {Mode::Eager, Mode::Safe})
    for (uint32_t device = 0; device != 3; ++device)
      for (uint32_t round = 0; round != 2; ++round) {
        if (device == 0 && round == 1)
          continue; // it has one
        TearDown();
        SetUp();
        options.mode = mode;
        SCOPED_TRACE(text("device ", device, ", round ", round));
        open(transitPlan());
        failAt(device, round);
        checkFiles();
        resume();
        EXPECT_FALSE(
            std::filesystem::exists(directory + "/device-1/transit-0"));
      }
}

TEST_F(RecoveryTest, WhatIsInTransitIsHeld) {
  open(transitPlan());
  failAt(2, 1);
  // Device 0 has released it, and device 2 has not received it.
  const auto held = heldShards(*index, 1, options.keeping.standings[1]);
  ASSERT_EQ(held.size(), 2u);
  EXPECT_EQ(held[1].side, Side::Transit);
  EXPECT_EQ(memoryName(held[1]), "transit-0");
  EXPECT_TRUE(findLost(*index, Survivors(options.keeping.standings.begin(),
                                         options.keeping.standings.end()))
                  .empty());
}

TEST_F(RecoveryTest, RollbackDropsWhatIsInTransit) {
  options.mode = Mode::Safe;
  open(transitPlan());
  failAt(2, 1);
  EXPECT_TRUE(std::filesystem::exists(directory + "/device-1/transit-0"));
  ASSERT_EQ(rollBack(*index, options.keeping, Mode::Safe).message(), "");
  EXPECT_FALSE(std::filesystem::exists(directory + "/device-1/transit-0"));
  read();
  checkFiles();
}

/// One device keeps a shard of two boxes, one a round.
etc::plan::fb::PlanT twoBoxPlan() {
  PlanBuilder b;
  uint32_t tensor = b.tensor("w", "master", etc::plan::fb::DType::fp32, {8});
  uint32_t shard = b.shard(tensor, {{{0, 3}}, {{5, 8}}});
  auto &program = b.program(std::nullopt, std::nullopt, {0}, {});
  program.prev_shards = program.curr_shards = {shard};
  b.round(program, {refer(tensor, b.box({{0, 3}}))});
  b.round(program, {refer(tensor, b.box({{5, 8}}))});
  program.peak = program.peak_safe = 24;
  b.plan.prev = grid(1, 1, 1);
  b.plan.curr = grid(1, 1, 1);
  b.plan.nodes = {1};
  b.plan.participants = b.plan.prev_placement = b.plan.curr_placement = {0};
  b.forecast(0, 0);
  b.forecast(0, 0);
  b.plan.summary = std::make_unique<etc::plan::fb::SummaryT>();
  b.plan.summary->kept_bytes = 24;
  return std::move(b.plan);
}

TEST_F(RecoveryTest, AShardOfSeveralBoxesStaysWhole) {
  open(twoBoxPlan());
  failAt(0, 1);
  const auto held = heldShards(*index, 0, options.keeping.standings[0]);
  ASSERT_EQ(held.size(), 1u);
  EXPECT_EQ(held[0].boxes.size(), 2u);
  checkFiles();
  resume();
}

TEST_F(RecoveryTest, SafeModeGoesBack) {
  options.mode = Mode::Safe;
  open(twoStagePlan());
  failAt(1, 1);
  ASSERT_EQ(rollBack(*index, options.keeping, Mode::Safe).message(), "");
  read();
  for (const Standing &standing : options.keeping.standings)
    EXPECT_TRUE(standing.isRolledBack);
  checkFiles();
  for (const auto &entry :
       std::filesystem::recursive_directory_iterator(directory))
    EXPECT_EQ(entry.path().filename().string().find("curr-"),
              std::string::npos);
  // Once more changes nothing.
  EXPECT_EQ(rollBack(*index, options.keeping, Mode::Safe).message(), "");
}

TEST_F(RecoveryTest, AProcessThatIsThereIsNotOvertaken) {
  options.mode = Mode::Safe;
  open(twoStagePlan());
  failAt(1, 1);
  const std::string path = journalPath(directory, 2);
  const std::string refusal =
      path + ": a process still has this journal; end it first";
  {
    auto held = Journal::open(path, *readJournal(path));
    ASSERT_TRUE(held.ok());
    EXPECT_EQ(rollBack(*index, options.keeping, Mode::Safe).message(), refusal);
    EXPECT_NE(runLocally(*index, options).status.message().find(refusal),
              std::string::npos);
  }
  read();
  for (const Standing &standing : options.keeping.standings)
    EXPECT_FALSE(standing.isRolledBack);
  resume();
}

TEST_F(RecoveryTest, WhatAProcessStillDidIsSeen) {
  options.mode = Mode::Safe;
  open(twoStagePlan());
  failAt(1, 1);
  const RunOptions old = options;
  resume();
  EXPECT_NE(rollBack(*index, old.keeping, Mode::Safe)
                .message()
                .find(": another process went on with it meanwhile; look again "
                      "with etc-run status"),
            std::string::npos);
}

TEST_F(RecoveryTest, TheModeStays) {
  options.mode = Mode::Safe;
  open(twoStagePlan());
  failAt(1, 1);
  options.mode = Mode::Eager;
  EXPECT_NE(runLocally(*index, options)
                .status.message()
                .find(": was begun with --mode=safe; go on with the same"),
            std::string::npos);
  read();
  EXPECT_EQ(rollBack(*index, options.keeping, Mode::Safe).message(), "");
}

TEST_F(RecoveryTest, WhatIsReleasedDoesNotComeBack) {
  open(twoStagePlan());
  failAt(1, 1);
  // Device 1 stopped in the second round, so it has finished the first; its
  // replica, device 0, may have.
  const std::string refusal =
      rollBack(*index, options.keeping, Mode::Eager).message();
  EXPECT_NE(refusal.find(" has released embedding.weight (param); go forward "
                         "with etc-run resume, or plan the way back with "
                         "etc-opt --prev=INVENTORY.json (etc-run inventory)"),
            std::string::npos)
      << refusal;
}

TEST_F(RecoveryTest, OneDecisionCommitsAll) {
  options.mode = Mode::Safe;
  open(twoStagePlan());
  failAt(0, 1);
  resume();
  // Take the last record of a journal away: one device had not heard yet.
  const std::string path = journalPath(directory, 3);
  auto contents = readJournal(path);
  contents->records.pop_back();
  ASSERT_TRUE(Journal::open(path, *contents)->append(Event::Stopped).ok());
  read();
  ASSERT_FALSE(options.keeping.standings[3].isCommitted);
  EXPECT_EQ(checkRollBack(*index, options.keeping).message(),
            "cannot roll back: the migration is committed; etc-run resume "
            "completes it");
  resume();
}

TEST_F(RecoveryTest, MissingFilesAreNamed) {
  open(twoStagePlan());
  failAt(1, 1);
  std::filesystem::remove(directory + "/device-3/prev-2");
  LocalOutcome outcome = runLocally(*index, options);
  EXPECT_EQ(outcome.status.message(),
            "device 3: the state of layer.weight (master) is gone (prev-2)");
}

TEST_F(RecoveryTest, AnotherMigrationStartsFromWhatIsLeft) {
  open(twoStagePlan());
  ASSERT_EQ(runLocally(*index, options).status.message(), "");
  read();
  Survivors survivors(options.keeping.standings.begin(),
                      options.keeping.standings.end());
  auto left = LeftState::open(*index, survivors, directory);
  ASSERT_TRUE(left.ok()) << left.status().message();
  Box rows{{3, 5}, {0, 4}}, others{{0, 2}, {0, 4}};
  std::vector<std::byte> data(16), expected(16);
  auto read = [&](BoxView box) {
    return (*left)->read(*index, 2, 0, {data.data(), box}).status().message();
  };
  EXPECT_EQ(read(rows), "");
  fillRegion(*index, 0, etc::plan::Side::Prev, {expected.data(), rows});
  EXPECT_EQ(data, expected);
  EXPECT_EQ(read(others),
            "the plan takes embedding.weight (param)[0:2, 0:4] from this "
            "device, but device 0 holds it; plan from the inventory of what is "
            "left");
}

TEST_F(RecoveryTest, ACheckpointBringsBackWhatIsLostAndNothingElse) {
  open(twoStagePlan());
  RunOptions broken = options; // on all devices, so that nothing lands
  broken.wrap = [](Transport &inner, uint32_t) {
    return std::make_unique<BrokenTransport>(inner, 0);
  };
  ASSERT_FALSE(runLocally(*index, broken).status.ok());
  read();
  const std::string checkpoint = directory + "/checkpoint";
  std::filesystem::create_directory(checkpoint);
  test::writeCheckpoint(*index, checkpoint);
  // Both devices of the second stage are gone, with the layer.
  Survivors survivors(options.keeping.standings.begin(),
                      options.keeping.standings.end());
  survivors[2].reset();
  survivors[3].reset();
  Box rows{{0, 4}, {0, 4}}, kept{{0, 5}, {0, 4}};
  std::vector<std::byte> data(64), expected(64);
  auto without = LeftState::open(*index, survivors, directory);
  EXPECT_EQ(
      (*without)->read(*index, 2, 2, {data.data(), rows}).status().message(),
      "the plan takes layer.weight (master)[0:4, 0:4], which no device holds; "
      "name a checkpoint that has it with --restore-from=DIR");
  auto left = LeftState::open(*index, survivors, directory,
                              *Checkpoint::open(checkpoint));
  Result<uint64_t> restored = (*left)->read(*index, 2, 2, {data.data(), rows});
  ASSERT_TRUE(restored.ok()) << restored.status().message();
  EXPECT_EQ(*restored, 64u);
  fillRegion(*index, 2, etc::plan::Side::Prev, {expected.data(), rows});
  EXPECT_EQ(data, expected);
  // What its device holds does not come from there, nor what another holds.
  EXPECT_EQ(*(*left)->read(*index, 0, 0, {data.data(), kept}), 0u);
  EXPECT_EQ(
      (*left)->read(*index, 2, 0, {data.data(), kept}).status().message(),
      "the plan takes embedding.weight (param)[0:5, 0:4] from this device, but "
      "device 0 holds it; plan from the inventory of what is left");
}

} // namespace
