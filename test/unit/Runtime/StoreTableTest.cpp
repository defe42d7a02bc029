// What the hub of a job's store answers, to whom and when.

#include "job/store/StoreTable.h"
#include "job/store/StoreClient.h"

#include <gtest/gtest.h>

using namespace etc::runtime;

namespace {

/// A hub, member 1, and others that answer what they hear when told to.
class StoreTableTest : public testing::Test {
protected:
  StoreTableTest() {
    table.setTerm(1);
    table.setOpen(true);
  }

  void join(uint64_t member) {
    clients[member];
    table.join(member);
  }
  /// All that was said is heard, and answered.
  void settle() {
    while (!said.empty()) {
      const auto [member, message] = said.front();
      said.pop_front();
      if (auto reply = clients[member].handle(message); reply && member != 1)
        table.handle(member, *reply);
    }
  }
  const std::string *decided(uint64_t member) {
    return clients[member].decided("key");
  }

  std::map<uint64_t, StoreClient> clients;
  std::deque<std::pair<uint64_t, StoreMessage>> said;
  StoreTable table{1, [this](uint64_t member, const StoreMessage &message) {
                     said.emplace_back(member, message);
                   }};
};

TEST_F(StoreTableTest, NobodyKnowsADecisionBeforeAllHaveIt) {
  join(2);
  join(3);
  table.handle(2, clients[2].propose("key", "a"));
  ASSERT_EQ(said.size(), 2u); // Learn
  table.handle(2, *clients[2].handle(said[0].second));
  EXPECT_EQ(said.size(), 2u);
  EXPECT_EQ(decided(2), nullptr);
  settle();
  for (uint64_t member : {1, 2, 3})
    EXPECT_EQ(*decided(member), "a");
}

TEST_F(StoreTableTest, ClosedItKeepsQuestions) {
  join(2);
  table.setOpen(false);
  table.handle(2, clients[2].propose("key", "a"));
  table.handle(2, clients[2].ask(1, "key", false));
  EXPECT_TRUE(said.empty());
  table.setOpen(true);
  settle();
  EXPECT_EQ(*decided(2), "a");
  EXPECT_TRUE(clients[2].request(1)->isAnswered);
}

/// A hub that fails may have told some: of two choices, the later hub's counts.
TEST_F(StoreTableTest, TheLaterHubsChoiceCounts) {
  join(2);
  join(3);
  table.setOpen(false);
  table.setTerm(4);
  StoreMessage known;
  known.kind = StoreKind::Known;
  known.key = "key";
  for (const auto &[member, term, value] :
       {std::tuple(2, 2, "older"), {3, 3, "newer"}}) {
    known.term = static_cast<uint64_t>(term);
    known.value = value;
    table.handle(static_cast<uint64_t>(member), known);
  }
  table.handle(2, clients[2].propose("key", "own"));
  settle();
  table.setOpen(true);
  settle();
  for (uint64_t member : {1, 2, 3})
    EXPECT_EQ(*decided(member), "newer");
}

TEST_F(StoreTableTest, WhatIsFinalStaysFinal) {
  join(2);
  join(3);
  StoreMessage known;
  known.kind = StoreKind::Known;
  known.key = "key";
  known.value = "chosen";
  known.term = 9;
  table.handle(2, known);
  known.value = "final";
  known.term = 2;
  known.flag = 1;
  table.handle(3, known);
  settle();
  EXPECT_EQ(*decided(2), "final");
}

/// What a member put before another one does not come back with a new hub.
TEST_F(StoreTableTest, TheLastPutCounts) {
  join(2);
  join(3);
  table.handle(2, clients[2].put("key", "first"));
  table.handle(3, clients[3].put("key", "second"));
  settle();
  StoreTable next(3, [this](uint64_t member, const StoreMessage &message) {
    said.emplace_back(member, message);
  });
  next.setOpen(true);
  next.join(2);
  for (uint64_t member : {3, 2})
    for (const StoreMessage &message : clients[member].repeat())
      next.handle(member, message);
  next.handle(2, clients[2].ask(1, "key", true));
  settle();
  EXPECT_EQ(clients[2].request(1)->value, "second");
}

TEST(StoreMessage, ComesBack) {
  StoreMessage message;
  message.kind = StoreKind::Members;
  message.flag = 1;
  message.term = 7;
  message.number = 8;
  message.key = "key";
  message.value = std::string(100'000, 'x');
  message.members = {5, {{1, 2, 3, "127.0.0.1:4"}, {5, 6, 7, "[::1]:8"}}};
  StoreReader reader;
  const std::string bytes = formatStoreMessage(message);
  reader.buffer() = bytes.substr(0, 7);
  EXPECT_FALSE(reader.next()->has_value());
  reader.buffer() += bytes.substr(7) + bytes;
  EXPECT_EQ(**reader.next(), message);
  EXPECT_EQ(**reader.next(), message);
  EXPECT_FALSE(reader.next()->has_value());
}

TEST(StoreMessage, WhatIsNoneIsRefused) {
  StoreMessage message;
  message.key = "key";
  const std::string bytes = formatStoreMessage(message);
  for (size_t at = 0; at != bytes.size(); ++at) {
    StoreReader reader;
    reader.buffer() = bytes;
    reader.buffer()[at] = static_cast<char>(0xff);
    const auto next = reader.next();
    EXPECT_TRUE(!next || !*next || **next != message) << at;
  }
}

} // namespace
