// Who goes on after a failure, among threads that share a store.

#include "StoreFixture.h"

#include "recovery/Agreement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

using namespace etc::runtime;
using namespace etc::runtime::test;

namespace {

/// For those who come: long enough on a loaded machine.
constexpr Milliseconds kPatience{60'000};
/// For those who do not.
constexpr Milliseconds kShort{50};

RecoveryMember member(uint32_t device, int64_t version) {
  return {device, device + 100, version, {{7, standingBefore()}}};
}

class AgreementTest : public testing::Test {
protected:
  AgreementOptions options(RecoveryMember self, Milliseconds patience) {
    AgreementOptions made;
    made.self = std::move(self);
    made.expected = {0, 1, 2};
    made.patience = patience;
    made.deadline = Deadline(kPatience);
    made.rendezvous = &store;
    made.check = [](const auto &) { return Status::success(); };
    return made;
  }

  /// What processes that come at once agree on.
  std::vector<Result<Agreement>>
  agreeAll(const std::vector<AgreementOptions> &all) {
    std::vector<std::optional<Result<Agreement>>> made(all.size());
    {
      std::vector<std::jthread> threads;
      for (size_t i = 0; i != all.size(); ++i)
        threads.emplace_back([&, i] { made[i] = agree(all[i]); });
    }
    std::vector<Result<Agreement>> results;
    results.reserve(made.size());
    for (auto &each : made)
      results.push_back(std::move(*each));
    return results;
  }

  static std::vector<uint32_t> devices(const Result<Agreement> &agreement) {
    std::vector<uint32_t> devices;
    for (const RecoveryMember &each : agreement->members)
      devices.push_back(each.device);
    return devices;
  }

  Store store;
};

TEST_F(AgreementTest, AllWhoComeAreInIt) {
  auto results = agreeAll({options(member(0, 3), kPatience),
                           options(member(1, 4), kPatience),
                           options(member(2, 3), kPatience)});
  for (const auto &result : results) {
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_EQ(result->generation, 1u);
    EXPECT_EQ(devices(result), (std::vector<uint32_t>{0, 1, 2}));
    EXPECT_EQ(result->members[1].version, 4);
  }
}

/// Who came may have died and been replaced, or have given up, before the
/// others agree: they would wait for it.
TEST_F(AgreementTest, WhoIsNotThereAnyMoreIsNotInIt) {
  for (const std::string &now :
       {std::string(), formatMember({2, 777, 0, {}})}) {
    const std::string key = keyOf(now.empty() ? 1 : 2, "held/2");
    AgreementOptions mine = options(member(0, 3), Milliseconds(300));
    mine.generation = now.empty() ? 0 : 1;
    ASSERT_TRUE(store.put(key, formatMember(member(2, 3))).ok());
    mine.check = [&](const std::vector<RecoveryMember> &members) {
      EXPECT_TRUE(store.put(key, now).ok());
      EXPECT_GT(members.size(), 0u);
      return Status::success();
    };
    const auto made = agree(mine);
    ASSERT_TRUE(made.ok()) << made.status().message();
    if (now.empty())
      EXPECT_EQ(devices(made), (std::vector<uint32_t>{0}));
    else
      EXPECT_EQ(made->members.back().process, 777u);
  }
}

TEST_F(AgreementTest, WhoComesLateIsExcluded) {
  auto first = agree(options(member(1, 3), kShort));
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_EQ(devices(first), (std::vector<uint32_t>{1}));
  const Status late = agree(options(member(0, 3), kShort)).status();
  EXPECT_EQ(late.kind(), ErrorKind::Excluded);
  EXPECT_EQ(late.message(), "the others went on without this process: recovery "
                            "1 is of devices 1");
}

/// One waits for longer than its patience. When others come, who together can
/// go on, it does not leave behind those that come a moment later.
TEST_F(AgreementTest, WhoComesSoonAfterTheOthersIsInIt) {
  AgreementOptions early = options(member(0, 3), Milliseconds(2000));
  std::atomic<bool> hasAsked = false;
  early.check = [&](const std::vector<RecoveryMember> &members) {
    hasAsked = true;
    return members.size() == 1 ? Status(ErrorKind::Peer, "alone")
                               : Status::success();
  };
  std::optional<Result<Agreement>> made;
  {
    std::jthread thread([&] { made = agree(early); });
    while (!hasAsked) // its patience is over
      std::this_thread::sleep_for(Milliseconds(5));
    for (uint32_t device : {1, 2}) {
      ASSERT_TRUE(store
                      .put(keyOf(1, text("held/", device)),
                           formatMember(member(device, 3)))
                      .ok());
      std::this_thread::sleep_for(Milliseconds(100));
    }
  }
  ASSERT_TRUE(made->ok()) << made->status().message();
  EXPECT_EQ(devices(*made), (std::vector<uint32_t>{0, 1, 2}));
}

/// A store that loses its hub: the first answer comes late, and the others can
/// say that they are there only after it.
class LateStore final : public Rendezvous {
public:
  LateStore(Store &store, std::function<void()> then)
      : store(store), then(std::move(then)) {}

  Status put(const std::string &key, const std::string &value) override {
    return store.put(key, value);
  }
  Result<std::string> putFirst(const std::string &key,
                               const std::string &value) override {
    return store.putFirst(key, value);
  }
  Result<std::string> get(const std::string &key,
                          const Deadline &deadline) override {
    if (++answers == 1)
      std::this_thread::sleep_for(Milliseconds(600));
    else if (answers == 4) // all were asked for once
      then();
    return store.get(key, deadline);
  }

private:
  Store &store;
  const std::function<void()> then;
  int answers = 0;
};

TEST_F(AgreementTest, TheTimeOfTheStoreIsNotThatOfTheOthers) {
  LateStore late(store, [&] {
    for (uint32_t device : {1, 2})
      EXPECT_TRUE(store
                      .put(keyOf(1, text("held/", device)),
                           formatMember(member(device, 3)))
                      .ok());
  });
  AgreementOptions early = options(member(0, 3), Milliseconds(500));
  early.rendezvous = &late;
  auto made = agree(early);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(devices(made), (std::vector<uint32_t>{0, 1, 2}));
}

TEST_F(AgreementTest, WhoHoldsNothingJoinsTheNextOne) {
  ASSERT_TRUE(agree(options(member(1, 3), kShort)).ok());
  AgreementOptions again = options(member(1, 3), kPatience);
  again.generation = 1;
  again.expected = {0, 1};
  AgreementOptions joiner = options({0, 100, 0, {}}, kPatience);
  joiner.expected = {0, 1};
  auto results = agreeAll({again, joiner});
  for (const auto &result : results) {
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_EQ(result->generation, 2u);
    EXPECT_EQ(devices(result), (std::vector<uint32_t>{0, 1}));
  }
}

TEST_F(AgreementTest, ANewProcessOfADeviceIsNotTheOldOne) {
  AgreementOptions two = options(member(1, 3), kShort);
  ASSERT_TRUE(store.put(keyOf(1, "held/0"), formatMember(member(0, 3))).ok());
  auto made = agree(two);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(devices(made), (std::vector<uint32_t>{0, 1}));
  RecoveryMember other = member(0, 3);
  other.process = 200;
  EXPECT_EQ(agree(options(other, kShort)).status().kind(), ErrorKind::Excluded);
  // With nothing it goes on to the next recovery, of which there is none yet.
  AgreementOptions joiner = options({0, 200, 0, {}}, kShort);
  joiner.deadline = Deadline(Milliseconds(200));
  EXPECT_EQ(agree(joiner).status().kind(), ErrorKind::Peer);
  EXPECT_TRUE(store.get(keyOf(2, "held/0"), Deadline(Milliseconds(0))).ok());
}

TEST_F(AgreementTest, WhoWakesAfterALaterOneIsExcluded) {
  ASSERT_TRUE(agree(options(member(1, 3), kShort)).ok());
  ASSERT_TRUE(
      store
          .put(keyOf(2, "members"), formatMembers({member(0, 3), member(2, 3)}))
          .ok());
  EXPECT_EQ(agree(options(member(1, 3), kShort)).status().message(),
            "the others went on without this process: recovery 2 is of devices "
            "0, 2");
}

TEST_F(AgreementTest, WhoChangedSinceIsExcluded) {
  ASSERT_TRUE(agree(options(member(1, 3), kShort)).ok());
  const Status status = agree(options(member(1, 4), kShort)).status();
  EXPECT_EQ(status.kind(), ErrorKind::Excluded);
  EXPECT_EQ(status.message(),
            "the others went on with what this process held earlier: recovery "
            "1 has it at step 3");
}

TEST_F(AgreementTest, WhatIsLostIsNamedInTime) {
  AgreementOptions alone = options(member(1, 3), kShort);
  alone.deadline = Deadline(Milliseconds(500));
  alone.check = [](const auto &members) {
    return Status(ErrorKind::Usage,
                  "nobody holds w, of " + std::to_string(members.size()));
  };
  const Status status = agree(alone).status();
  EXPECT_EQ(status.kind(), ErrorKind::Peer);
  EXPECT_EQ(status.message(), "no recovery within 0.5 s: nobody holds w, of 1");
}

/// Also by whoever had no turn to look for it: its patience is longer.
TEST_F(AgreementTest, WhatIsLostIsNamedBeforeItsTurn) {
  AgreementOptions patient = options(member(1, 3), kPatience);
  patient.deadline = Deadline(Milliseconds(0));
  patient.check = [](const auto &members) {
    return Status(ErrorKind::Usage,
                  "nobody holds w, of " + std::to_string(members.size()));
  };
  ASSERT_TRUE(store.put(keyOf(1, "held/2"), formatMember(member(2, 3))).ok());
  EXPECT_EQ(agree(patient).status().message(),
            "no recovery within 0 s: nobody holds w, of 2");

  // Nothing is: the one before it had its turn.
  patient.check = [](const auto &) { return Status::success(); };
  EXPECT_EQ(agree(patient).status().message(),
            "no recovery within 0 s: no process that holds state has decided");
}

TEST_F(AgreementTest, NobodyWhoHoldsStateDecides) {
  AgreementOptions alone = options({1, 101, 0, {}}, kShort);
  alone.deadline = Deadline(Milliseconds(200));
  EXPECT_EQ(agree(alone).status().message(),
            "no recovery within 0.2 s: no process that holds state has "
            "decided");
}

TEST_F(AgreementTest, DamageIsLeftOutOrRefused) {
  ASSERT_TRUE(store.put(keyOf(1, "held/0"), "0 100 3 1 7 99999").ok());
  ASSERT_TRUE(store.put(keyOf(1, "held/2"), formatMember(member(1, 3))).ok());
  auto made = agree(options(member(1, 3), kShort));
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_EQ(devices(made), (std::vector<uint32_t>{1}));

  ASSERT_TRUE(store.put(keyOf(1, "members"), "0 100 3 1 7").ok());
  const Status status = agree(options(member(1, 3), kShort)).status();
  EXPECT_EQ(status.kind(), ErrorKind::Malformed);
  EXPECT_EQ(status.message(), "recovery/1/members: not the members of a "
                              "recovery");
}

TEST(RecoveryMemberTest, IsReadAsWritten) {
  RecoveryMember all = member(3, -2);
  all.claims.push_back({~uint64_t{0}, standingAfter(5)});
  const std::string line = formatMember(all);
  auto read = parseMember(line);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(formatMember(*read), line);
  EXPECT_EQ(read->version, -2);
  EXPECT_TRUE(read->claims[1].standing.isCommitted);
  EXPECT_EQ(read->claims[1].standing.landed, 5u);
}

TEST(RecoveryMemberTest, DamageIsRefused) {
  for (const char *line :
       {"", "x", "1", "1 9", "1 9 2", "1 9 2 9", "1 9 2 1", "1 9 2 1 7 1",
        "1 9 2 1 7 16 0 0 0", "1 9 2 1 7 1 0 1 0", "1 9 2 1 7 1 1 0 1",
        "1 9 2 1 7 1 0 0 0 0", "1 9 2 0 x", "-1 9 2 0", " 1 9 2 0", "1  9 2 0",
        "1 9 2 1 7 1 -1 -1 -1", "1 9 2 4294967295"})
    EXPECT_FALSE(parseMember(line).has_value()) << '"' << line << '"';
}

TEST(RecoveryMemberTest, EveryCutAndEveryByteIsRefusedOrRead) {
  const std::string whole =
      formatMembers({member(1, 20), {4, 104, 0, {}}, member(30, 19)});
  ASSERT_EQ(parseMembers(whole)->size(), 3u);
  for (size_t cut = 0; cut != whole.size(); ++cut) {
    auto read = parseMembers(whole.substr(0, cut));
    const bool isBetweenLines = cut == 0 || whole[cut - 1] == '\n';
    EXPECT_EQ(read.has_value(), isBetweenLines) << cut;
  }
  for (size_t at = 0; at != whole.size(); ++at)
    for (int byte = 0; byte != 256; ++byte) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(byte);
      if (auto read = parseMembers(damaged)) {
        EXPECT_TRUE(std::is_sorted(
            read->begin(), read->end(),
            [](const auto &a, const auto &b) { return a.device < b.device; }));
      }
    }
}

} // namespace
