// Journals, and what is concluded from them: P1, P9, P11 and P12 of
// docs/reliability.md.

#include "PlanFixture.h"

#include "core/journal/JournalFormat.h"
#include "state/inventory/Inventory.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

using namespace etc;
using namespace etc::runtime;
using namespace etc::plan::test;

namespace {

class JournalTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "etc-journal-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory = pattern;
    path = directory / "device-0.journal";
    header.rankCount = 4;
    header.planHash = 7;
  }
  void TearDown() override { std::filesystem::remove_all(directory); }

  void write(std::initializer_list<JournalRecord> records) {
    Result<Journal> journal = Journal::create(path, header, 4);
    ASSERT_TRUE(journal.ok()) << journal.status().message();
    for (const JournalRecord &record : records)
      ASSERT_TRUE(journal->append(record).ok());
  }

  std::vector<std::byte> bytes() const {
    std::vector<std::byte> all(std::filesystem::file_size(path));
    std::ifstream(path, std::ios::binary)
        .read(reinterpret_cast<char *>(all.data()), all.size());
    return all;
  }

  /// What is wrong with a journal of these records.
  std::string judge(std::initializer_list<JournalRecord> records) {
    std::filesystem::remove(path);
    write(records);
    return parseJournal(bytes()).status().message();
  }

  std::filesystem::path directory;
  std::string path;
  JournalHeader header;
};

JournalRecord of(Event event, uint32_t round = 0) {
  return {event, round, 1, 2, 0};
}

constexpr size_t kHeader = sizeof(JournalHeader);
constexpr size_t kRecord = sizeof(JournalRecord);

TEST_F(JournalTest, ReadsWhatItWrote) {
  write({of(Event::Filled), of(Event::Landed, 0), of(Event::Acknowledged, 0),
         of(Event::Landed, 1), of(Event::Stopped)});
  Result<JournalContents> contents = readJournal(path);
  ASSERT_TRUE(contents.ok()) << contents.status().message();
  EXPECT_EQ(contents->header.planHash, 7u);
  const Standing &standing = contents->standing;
  EXPECT_TRUE(standing.isFilled && standing.isStopped);
  EXPECT_EQ(standing.landed, 2u);
  EXPECT_EQ(standing.acknowledged, 1u);
  EXPECT_EQ(standing.released, 1u);
  EXPECT_EQ(contents->records[1].receivedHash, 1u);
}

TEST_F(JournalTest, GoesOnWhereItEnded) {
  write({of(Event::Filled)});
  Result<JournalContents> contents = readJournal(path);
  Result<Journal> journal = Journal::open(path, *contents);
  ASSERT_TRUE(journal->append(of(Event::Landed, 0)).ok());
  EXPECT_EQ(readJournal(path)->standing.landed, 1u);
}

TEST_F(JournalTest, SafeModeReleasesNothing) {
  header.mode = Mode::Safe;
  write({of(Event::Filled), of(Event::Landed, 0), of(Event::Acknowledged, 0)});
  EXPECT_EQ(readJournal(path)->standing.released, 0u);
}

TEST_F(JournalTest, ATornRecordDoesNotCount) {
  write({of(Event::Filled), of(Event::Landed, 0)});
  std::vector<std::byte> torn = bytes();
  for (size_t kept = 0; kept != kRecord; ++kept) {
    std::vector<std::byte> cut = torn;
    std::fill(cut.begin() + kHeader + kRecord + kept, cut.end(), std::byte{0});
    Result<JournalContents> contents = parseJournal(cut);
    ASSERT_TRUE(contents.ok()) << kept;
    EXPECT_EQ(contents->standing.landed, 0u) << kept;
    cut.resize(kHeader + kRecord + kept);
    EXPECT_EQ(parseJournal(cut)->standing.landed, 0u) << kept;
  }
}

TEST_F(JournalTest, EveryDamagedByteIsNoticed) {
  write({of(Event::Filled), of(Event::Landed, 0), of(Event::Acknowledged, 0)});
  const std::vector<std::byte> good = bytes();
  for (size_t at = 0; at != kHeader + 2 * kRecord; ++at) {
    std::vector<std::byte> damaged = good;
    damaged[at] ^= std::byte{0x10};
    EXPECT_FALSE(parseJournal(damaged).ok()) << at;
  }
}

TEST_F(JournalTest, NamesWhatIsWrong) {
  write({of(Event::Filled), of(Event::Landed, 0)});
  std::vector<std::byte> good = bytes();
  auto message = [](std::vector<std::byte> all) {
    return parseJournal(all).status().message();
  };
  EXPECT_EQ(message({}), "not a journal: 0 bytes");
  auto other = good;
  other[7] = std::byte{'2'};
  EXPECT_EQ(message(other),
            "not a journal of this version (expected ETCJRNL1)");
  other = good;
  other[9] ^= std::byte{1};
  EXPECT_EQ(message(other), "damaged: the header does not match its checksum");
  other = good;
  other[kHeader + 5] ^= std::byte{1};
  EXPECT_EQ(message(other), "damaged: record 0 does not match its checksum");
  // Records do not change places.
  other = good;
  std::swap_ranges(other.begin() + kHeader, other.begin() + kHeader + kRecord,
                   other.begin() + kHeader + kRecord);
  EXPECT_EQ(message(other), "damaged: record 0 does not match its checksum");
}

TEST(StandingTest, WhatOthersNotedIsHeldAgainstAJournal) {
  Standing none, filled, landed, prepared, committed;
  filled.isFilled = landed.isFilled = prepared.isFilled = true;
  landed.landed = 1;
  prepared.isPrepared = true;
  committed = prepared;
  committed.isCommitted = true;
  for (const Standing &standing : {filled, landed, prepared, committed})
    EXPECT_EQ(checkNoted(none, standing).ok(),
              standing.landed == 0 && !standing.isPrepared);
  for (const Standing &standing : {filled, landed, prepared, committed})
    EXPECT_EQ(checkNoted(filled, standing).ok(), !standing.isCommitted);
  EXPECT_TRUE(checkNoted(prepared, committed).ok());
}

TEST_F(JournalTest, EventsHaveAnOrder) {
  EXPECT_EQ(judge({of(Event::Landed, 0)}),
            "record 0: a round outside of the migration");
  EXPECT_EQ(judge({of(Event::Filled), of(Event::Filled)}),
            "record 1: an event out of order");
  EXPECT_EQ(judge({of(Event::Filled), of(Event::Landed, 1)}),
            "record 1: round 1 where 0 follows");
  EXPECT_EQ(judge({of(Event::Filled), of(Event::Acknowledged, 0)}),
            "record 1: round 0 acknowledged before it landed");
  EXPECT_EQ(judge({of(Event::Filled), of(Event::Decided)}),
            "record 1: an event out of order");
  EXPECT_EQ(judge({of(Event::Filled), of(Event::Committed)}),
            "record 1: an event out of order");
  EXPECT_EQ(judge({of(Event::Filled), of(Event::Prepared), of(Event::Decided),
                   of(Event::RolledBack)}),
            "record 3: an event out of order");
  EXPECT_EQ(
      judge({of(Event::Filled), of(Event::RolledBack), of(Event::Prepared)}),
      "record 2: an event out of order");
  EXPECT_EQ(judge({of(Event::Filled), of(static_cast<Event>(99))}),
            "record 1: an unknown event");
}

TEST_F(JournalTest, HeadersAreChecked) {
  header.mode = static_cast<Mode>(5);
  EXPECT_EQ(judge({}), "unknown mode 5");
  header.mode = Mode::Eager;
  header.rank = 4;
  EXPECT_EQ(judge({}), "rank 4 is not in [0, 4)");
}

TEST_F(JournalTest, NeverReplacesOne) {
  write({});
  EXPECT_EQ(Journal::create(path, header, 4).status().message(),
            path + ": cannot write the journal: File exists");
  EXPECT_EQ(Journal::create(directory / "none/j", header, 4).status().message(),
            (directory / "none/j").string() +
                ": cannot write the journal: No such file or directory");
  EXPECT_EQ(readJournal(directory / "none").status().message(),
            (directory / "none").string() +
                ": cannot open: No such file or directory");
}

TEST_F(JournalTest, IsOneProcessesAtATime) {
  const std::string message =
      path + ": a process still has this journal; end it first";
  {
    Result<Journal> first = Journal::create(path, header, 4);
    ASSERT_TRUE(first.ok()) << first.status().message();
    EXPECT_EQ(Journal::open(path, *readJournal(path)).status().message(),
              message);
  }
  Result<Journal> next = Journal::open(path, *readJournal(path));
  ASSERT_TRUE(next.ok()) << next.status().message();
  EXPECT_EQ(Journal::open(path, *readJournal(path)).status().message(),
            message);
}

class InventoryTest : public testing::Test {
protected:
  InventoryTest()
      : bytes(etc::plan::packPlan(twoStagePlan())),
        index(*etc::plan::fb::GetPlan(bytes.data())) {}

  /// All devices after so many rounds, of which so many are released.
  Survivors after(uint32_t landed, uint32_t released) const {
    Standing standing;
    standing.isFilled = true;
    standing.landed = landed;
    standing.acknowledged = standing.released = released;
    return Survivors(4, standing);
  }

  std::vector<std::string> lost(const Survivors &survivors) {
    std::vector<std::string> names;
    for (const TensorBox &box : findLost(index, survivors))
      names.push_back(index.describeTensor(box.tensor) + describe(box.box));
    return names;
  }

  std::vector<uint8_t> bytes;
  PlanIndex index;
};

TEST_F(InventoryTest, IsAsDocumented) {
  Survivors survivors = after(1, 1);
  survivors[1].reset();
  survivors[3].reset();
  // The first program has released the embedding that it had, and holds what
  // the first round brought; the master weights come in the second.
  EXPECT_EQ(formatInventory(index, takeInventory(index, survivors)), R"({
  "format": "etc-inventory",
  "version": 1,
  "tensors": [
    {"name": "embedding.weight", "type": "param", "dtype": "bf16", "shape": [6, 4], "prev_shape": [5, 4]},
    {"name": "layer.weight", "type": "param", "dtype": "bf16", "shape": [4, 4]},
    {"name": "layer.weight", "type": "master", "dtype": "fp32", "shape": [4, 4]},
    {"name": "norm.weight", "type": "param", "dtype": "fp32", "shape": [4]},
    {"name": "head.weight", "type": "param", "dtype": "bf16", "shape": [6, 4], "prev_shape": [5, 4], "tied_to": "embedding.weight"}],
  "shards": [
    {"tensor": 0, "boxes": [[[0, 3], [0, 4]]]},
    {"tensor": 1, "boxes": [[[0, 2], [0, 4]]]},
    {"tensor": 3, "boxes": [[[0, 4]]]},
    {"tensor": 0, "boxes": [[[3, 6], [0, 4]]]},
    {"tensor": 1, "boxes": [[[2, 4], [0, 4]]]},
    {"tensor": 2, "boxes": [[[0, 4], [0, 4]]]},
    {"tensor": 4, "boxes": [[[3, 6], [0, 4]]]}],
  "devices": [
    {"device": 0, "has": [0, 1, 2]},
    {"device": 2, "has": [3, 4, 5, 2, 6]}]
}
)");
}

TEST_F(InventoryTest, BothSidesCountOnce) {
  // Landed, not released: the previous shards, and what is new beside them.
  const std::string all =
      formatInventory(index, takeInventory(index, after(1, 0)));
  EXPECT_NE(all.find("{\"tensor\": 0, \"boxes\": [[[0, 5], [0, 4]]]}"),
            std::string::npos)
      << all;
  EXPECT_NE(all.find("{\"tensor\": 1, \"boxes\": [[[0, 4], [0, 4]]]}"),
            std::string::npos)
      << all;
}

TEST_F(InventoryTest, OfOneDeviceIsThatOfAllWithoutTheOthers) {
  for (uint32_t landed : {0, 1, 2})
    for (uint32_t rank = 0; rank != 4; ++rank) {
      const Survivors all = after(landed, landed);
      Survivors alone(4);
      alone[rank] = all[rank];
      EXPECT_EQ(formatHeld(index, rank, *all[rank]),
                formatInventory(index, takeInventory(index, alone)));
    }
}

TEST_F(InventoryTest, ReplicasSaveEverything) {
  Survivors survivors = after(1, 1);
  survivors[0].reset();
  EXPECT_TRUE(findLost(index, survivors).empty());
}

TEST_F(InventoryTest, NamesWhatIsLost) {
  Survivors survivors = after(0, 0);
  survivors[2].reset();
  survivors[3].reset();
  // The norm survives on the other stage.
  EXPECT_EQ(lost(survivors),
            (std::vector<std::string>{"layer.weight (param)[0:4, 0:4]",
                                      "layer.weight (master)[0:4, 0:4]"}));
  survivors = after(0, 0);
  survivors[0].reset();
  survivors[1].reset();
  EXPECT_EQ(lost(survivors),
            (std::vector<std::string>{"embedding.weight (param)[0:5, 0:4]"}));
  // Half of it came over in the first round, and the head is its twin.
  survivors = after(1, 1);
  survivors[0].reset();
  survivors[1].reset();
  EXPECT_EQ(lost(survivors),
            (std::vector<std::string>{"embedding.weight (param)[0:3, 0:4]"}));
}

TEST_F(InventoryTest, WhatCanBeCastIsNotLost) {
  // Where the parameter is gone and its master is there.
  Survivors survivors = after(1, 1);
  survivors[0].reset();
  survivors[1].reset();
  for (const std::string &box : lost(survivors))
    EXPECT_EQ(box.find("layer.weight"), std::string::npos) << box;
}

TEST_F(InventoryTest, RestoredBoxesAreSharedOut) {
  Survivors survivors = after(0, 0);
  survivors[2].reset();
  survivors[3].reset();
  Inventory inventory = takeInventory(index, survivors);
  share(index, findLost(index, survivors), inventory);
  // The master is twice as large as the parameter, which came first.
  EXPECT_EQ((*inventory[0])[1], (std::vector<Box>{{{0, 4}, {0, 4}}}));
  EXPECT_EQ((*inventory[1])[2], (std::vector<Box>{{{0, 4}, {0, 4}}}));
  EXPECT_FALSE(inventory[2].has_value());
}

} // namespace
