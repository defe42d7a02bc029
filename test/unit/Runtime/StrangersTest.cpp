// Connections that have not said who they are.

#include "core/transport/Strangers.h"

#include <gtest/gtest.h>

#include <sys/socket.h>

using namespace etc::runtime;

namespace {

constexpr Milliseconds kLong{10'000};

/// Both ends of a connection.
std::pair<Socket, Socket> connection() {
  int ends[2] = {-1, -1};
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
  return {Socket(ends[0]), Socket(ends[1])};
}

void say(const Socket &socket, std::string words) {
  EXPECT_TRUE(socket.send(words));
}

/// What a judge that takes everybody hears.
std::vector<std::string> hear(Strangers &strangers) {
  std::vector<std::string> all;
  strangers.hear([&](Socket &, const std::string &said) {
    all.push_back(said);
    return true;
  });
  return all;
}

TEST(StrangersTest, AreJudgedWhenTheyHaveSaidEnough) {
  Strangers strangers(4, false, kLong);
  auto [here, there] = connection();
  strangers.add(std::move(here), nullptr);
  say(there, "na");
  EXPECT_TRUE(hear(strangers).empty());
  say(there, "me and more");
  EXPECT_EQ(hear(strangers), std::vector<std::string>{"name and more"});
  EXPECT_TRUE(strangers.isEmpty());
}

TEST(StrangersTest, WhatComesBehindIsLeft) {
  Strangers strangers(4, true, kLong);
  auto [here, there] = connection();
  strangers.add(std::move(here), nullptr);
  say(there, "name and more");
  std::string rest;
  strangers.hear([&](Socket &socket, const std::string &said) {
    EXPECT_EQ(said, "name");
    return socket.receive(rest);
  });
  EXPECT_EQ(rest, " and more");
}

TEST(StrangersTest, AreHeardAgainUntilTheyAreHandled) {
  Strangers strangers(4, false, kLong);
  auto [here, there] = connection();
  strangers.add(std::move(here), nullptr);
  say(there, "name");
  strangers.hear([](Socket &, const std::string &) { return false; });
  EXPECT_EQ(hear(strangers), std::vector<std::string>{"name"});
}

TEST(StrangersTest, WhoLeavesOrIsLateIsNotWaitedFor) {
  Strangers strangers(4, false, kLong), brief(4, false, Milliseconds(0));
  strangers.add(connection().first, nullptr);
  auto [here, there] = connection();
  brief.add(std::move(here), nullptr);
  EXPECT_TRUE(hear(strangers).empty());
  EXPECT_TRUE(hear(brief).empty());
  EXPECT_TRUE(strangers.isEmpty());
  EXPECT_TRUE(brief.isEmpty());
}

TEST(StrangersTest, OfTooManyTheOldestGoes) {
  Strangers strangers(4, false, kLong);
  std::vector<Socket> others;
  for (size_t i = 0; i != kMostStrangers + 1; ++i) {
    auto [here, there] = connection();
    strangers.add(std::move(here), nullptr);
    others.push_back(std::move(there));
  }
  EXPECT_TRUE(hear(strangers).empty());
  std::string said;
  EXPECT_FALSE(others[0].receive(said));
  EXPECT_TRUE(others[1].receive(said));
  std::vector<pollfd> entries;
  strangers.addEntries(entries);
  EXPECT_EQ(entries.size(), kMostStrangers);
}

} // namespace
