// Connections that are secured, over real sockets, with somebody between them.

#include "core/net/Socket.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <new>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace etc::runtime;
using Clock = std::chrono::steady_clock;

namespace {

Secret secretOf(const char *text) { return *makeSecret(text); }

/// The two ends of a TCP connection.
struct Ends {
  Socket connecting, accepting;

  Ends() {
    Address address;
    Result<Socket> listener = listenAt(address);
    const auto deadline = Clock::now() + std::chrono::seconds(20);
    connecting = std::move(*connectTo(address, deadline));
    while (!accepting.isOpen())
      accepting = accept(*listener);
  }

  void secure(const char *one = "0123456789abcdef",
              const char *other = "0123456789abcdef") {
    connecting.secure(TlsSide::Connecting, secretOf(one));
    accepting.secure(TlsSide::Accepting, secretOf(other));
  }
};

/// Sends from one end until the other has so many bytes, or either ends.
std::string pass(const Socket &from, const Socket &to, std::string bytes) {
  const size_t size = bytes.size();
  std::string come, back;
  bool isAlive = true;
  while (isAlive && come.size() < size)
    isAlive =
        from.receive(back) && from.send(bytes) && to.receive(come) && isAlive;
  return come;
}

/// Two secured ends that are connected through somebody who sees all.
struct Tapped {
  Ends one, other;
  std::string seen; // of what the connecting end says

  Tapped() {
    one.connecting.secure(TlsSide::Connecting, secretOf("0123456789abcdef"));
    other.accepting.secure(TlsSide::Accepting, secretOf("0123456789abcdef"));
  }

  /// Carries bytes both ways; `change` may alter what the connecting end says.
  template <typename Change> void carry(Change change) {
    std::string there, back;
    one.accepting.receive(there);
    change(there);
    seen += there;
    other.connecting.send(there);
    other.connecting.receive(back);
    one.accepting.send(back);
  }
};

const auto kNothing = [](std::string &) {};

TEST(TlsSession, CarriesBytesBothWays) {
  Ends ends;
  ends.secure();
  EXPECT_FALSE(ends.connecting.isReady());
  EXPECT_EQ(pass(ends.connecting, ends.accepting, "there"), "there");
  EXPECT_TRUE(ends.connecting.isReady() && ends.accepting.isReady());
  EXPECT_EQ(pass(ends.accepting, ends.connecting, "back"), "back");
  std::string large;
  large.resize(9'000'000, 'x');
  for (size_t i = 0; i < large.size(); i += 1000)
    large[i] = static_cast<char>(i / 1000);
  EXPECT_EQ(pass(ends.connecting, ends.accepting, large), large);
}

TEST(TlsSession, BothSidesProveTheSecret) {
  Ends ends;
  ends.secure("0123456789abcdef", "0123456789abcdeg");
  EXPECT_EQ(pass(ends.connecting, ends.accepting, "there"), "");
  EXPECT_FALSE(ends.connecting.isReady() || ends.accepting.isReady());
  Ends others;
  others.secure("0123456789abcdef", "0123456789abcdeg");
  EXPECT_EQ(pass(others.accepting, others.connecting, "back"), "");
}

TEST(TlsSession, NothingIsReadInBetween) {
  Tapped tapped;
  const std::string said = "what nobody else may know";
  std::string out = said, come, back;
  while (come.size() < said.size()) {
    tapped.one.connecting.receive(back);
    ASSERT_TRUE(tapped.one.connecting.send(out));
    tapped.carry(kNothing);
    ASSERT_TRUE(tapped.other.accepting.receive(come));
  }
  EXPECT_EQ(come, said);
  EXPECT_EQ(tapped.seen.find(said), std::string::npos);
  EXPECT_EQ(tapped.seen.find("0123456789abcdef"), std::string::npos);
}

TEST(TlsSession, WhatWasRecordedIsOfNoUse) {
  Tapped tapped;
  std::string out = "leave", come, back;
  while (come.size() < 5) {
    tapped.one.connecting.receive(back);
    ASSERT_TRUE(tapped.one.connecting.send(out));
    tapped.carry(kNothing);
    ASSERT_TRUE(tapped.other.accepting.receive(come));
  }
  Ends replay;
  replay.accepting.secure(TlsSide::Accepting, secretOf("0123456789abcdef"));
  std::string again = tapped.seen, heard;
  replay.connecting.send(again);
  while (replay.accepting.receive(heard))
    std::this_thread::yield();
  EXPECT_EQ(heard, "");
}

TEST(TlsSession, AChangedByteEndsIt) {
  Tapped tapped;
  std::string out = "leave", come, back;
  bool isAlive = true;
  for (bool hasChanged = false; isAlive && come.empty();) {
    tapped.one.connecting.receive(back);
    tapped.one.connecting.send(out);
    tapped.carry([&](std::string &bytes) {
      // The handshake is over where the connecting end sends this.
      if (!hasChanged && !bytes.empty() && out.empty()) {
        bytes.back() ^= 1;
        hasChanged = true;
      }
    });
    isAlive = tapped.other.accepting.receive(come);
  }
  EXPECT_EQ(come, "");
}

constexpr int kNoMemory = 7, kLost = 8;

/// Says something over a new connection in a process that has only so much
/// memory left.
[[noreturn]] void talkWith(size_t kilobytes) {
  std::set_new_handler([] { ::_exit(kNoMemory); });
  letNewHandlerServeTls();
  Ends ends;
  std::string there(5, 'x'), come(4096, ' '), back(4096, ' ');
  std::vector<void *> left(kilobytes);
  for (void *&block : left)
    block = std::malloc(1000);
  void *volatile taken = nullptr; // or compilers leave all this out
  const rlimit none{1, 1};
  ::setrlimit(RLIMIT_AS, &none);
  for (size_t size = 1 << 20; size >= 16; size /= 2)
    do
      taken = std::malloc(size);
    while (taken);
  std::for_each(left.begin(), left.end(), std::free);
  ends.secure();
  come.clear();
  back.clear();
  while (come.empty())
    if (!ends.connecting.receive(back) || !ends.connecting.send(there) ||
        !ends.accepting.receive(come))
      ::_exit(kLost);
  ::_exit(0);
}

TEST(TlsSessionDeathTest, WithoutMemoryNoConnectionIsLost) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers end a process that is out of memory themselves";
#endif
  GTEST_FLAG_SET(death_test_style, "threadsafe"); // its OpenSSL is new
  auto isTold = [](int state) {
    return WIFEXITED(state) &&
           (WEXITSTATUS(state) == 0 || WEXITSTATUS(state) == kNoMemory);
  };
  EXPECT_EXIT(talkWith(0), testing::ExitedWithCode(kNoMemory), "");
  for (size_t kilobytes = 4; kilobytes <= 800; kilobytes += 4)
    EXPECT_EXIT(talkWith(kilobytes), isTold, "") << kilobytes;
  EXPECT_EXIT(talkWith(4000), testing::ExitedWithCode(0), "");
}

TEST(TlsSession, TheEndOfTheConnectionIsTheEnd) {
  Ends ends;
  ends.secure();
  ASSERT_EQ(pass(ends.connecting, ends.accepting, "there"), "there");
  std::string last = "last", come;
  ASSERT_TRUE(ends.connecting.send(last));
  ends.connecting.close();
  while (ends.accepting.receive(come))
    std::this_thread::yield();
  EXPECT_EQ(come, "last");
}

} // namespace
