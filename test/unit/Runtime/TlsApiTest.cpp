// TLS through the C API, whose bytes the test carries.

#include "etc-c/tls.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace {

struct Free {
  void operator()(etc_tls *tls) const { etc_tls_free(tls); }
  void operator()(etc_value *value) const { etc_value_free(value); }
  void operator()(etc_error *error) const { etc_error_free(error); }
};
using Error = std::unique_ptr<etc_error, Free>;

/// One side, as a program's event loop has it.
class Side {
public:
  Side(const char *token, etc_tls_side side) {
    etc_tls *made = nullptr;
    EXPECT_EQ(etc_tls_new(token, side, &made), nullptr);
    tls.reset(made);
  }

  bool isOpen() const { return etc_tls_is_open(tls.get()); }
  std::string take() {
    etc_tls_take(tls.get(), value.get());
    return text();
  }
  Error send(const std::string &said) {
    return Error(etc_tls_send(tls.get(), said.data(), said.size()));
  }
  /// Adds what was said to `heard`.
  Error receive(const std::string &came) {
    Error error(
        etc_tls_receive(tls.get(), came.data(), came.size(), value.get()));
    heard += error ? "" : text();
    return error;
  }

  std::string heard;

private:
  std::string text() const {
    size_t size = 0;
    const void *data = etc_value_data(value.get(), &size);
    return {static_cast<const char *>(data), size};
  }

  std::unique_ptr<etc_tls, Free> tls;
  std::unique_ptr<etc_value, Free> value{etc_value_new()};
};

constexpr const char *kToken = "0123456789abcdef";

struct Pair {
  Side one, other{kToken, ETC_TLS_ACCEPT};

  explicit Pair(const char *token = kToken) : one(token, ETC_TLS_CONNECT) {}

  /// The errors of a handshake, of either side.
  std::pair<Error, Error> open() {
    Error accepting = other.receive(one.take());
    Error connecting = one.receive(other.take());
    if (!accepting)
      accepting = other.receive(one.take());
    return {std::move(connecting), std::move(accepting)};
  }
};

TEST(TlsApi, CarriesBytesBothWays) {
  Pair pair;
  auto [connecting, accepting] = pair.open();
  EXPECT_TRUE(!connecting && !accepting);
  EXPECT_TRUE(pair.one.isOpen() && pair.other.isOpen());
  const std::string large(3'000'000, 'x');
  EXPECT_FALSE(pair.one.send(large) || pair.other.send("back"));
  const std::string wire = pair.one.take();
  for (size_t at = 0; at < wire.size(); at += 1000) // as a network cuts it
    EXPECT_FALSE(pair.other.receive(wire.substr(at, 1000)));
  EXPECT_EQ(pair.other.heard, large);
  EXPECT_FALSE(pair.one.receive(pair.other.take()));
  EXPECT_EQ(pair.one.heard, "back");
}

TEST(TlsApi, BothSidesLearnThatTheTokensDiffer) {
  Pair pair("0123456789abcdeg");
  auto [connecting, accepting] = pair.open();
  ASSERT_TRUE(connecting && accepting);
  EXPECT_EQ(etc_error_kind_of(connecting.get()), ETC_ERROR_PEER);
  EXPECT_EQ(etc_error_kind_of(accepting.get()), ETC_ERROR_PEER);
  EXPECT_FALSE(pair.one.isOpen() || pair.other.isOpen());
}

TEST(TlsApi, WhatIsNotTlsIsMalformed) {
  for (const char *said : {"GET / HTTP/1.1\r\n\r\n", "{\"number\": 1}\n"}) {
    Pair pair;
    for (Side *side : {&pair.one, &pair.other}) {
      const Error error = side->receive(said);
      ASSERT_TRUE(error);
      EXPECT_EQ(etc_error_kind_of(error.get()), ETC_ERROR_MALFORMED);
      EXPECT_TRUE(side->receive("more"));
    }
  }
}

TEST(TlsApi, AChangedByteEndsIt) {
  Pair pair;
  pair.open();
  EXPECT_FALSE(pair.one.send("there"));
  std::string wire = pair.one.take();
  wire.back() ^= 1;
  const Error error = pair.other.receive(wire);
  ASSERT_TRUE(error);
  EXPECT_EQ(etc_error_kind_of(error.get()), ETC_ERROR_MALFORMED);
  EXPECT_EQ(pair.other.heard, "");
}

TEST(TlsApi, NothingIsSentBeforeThePeerHasProvedTheToken) {
  Pair pair;
  EXPECT_TRUE(pair.one.send("there"));
  EXPECT_FALSE(pair.one.isOpen() || pair.other.isOpen());
}

TEST(TlsApi, TokensHaveALength) {
  etc_tls *tls = nullptr;
  for (const std::string &token :
       {std::string("short"), std::string(65, 'x')}) {
    const Error error(etc_tls_new(token.c_str(), ETC_TLS_ACCEPT, &tls));
    ASSERT_TRUE(error);
    EXPECT_EQ(etc_error_kind_of(error.get()), ETC_ERROR_USAGE);
  }
}

} // namespace
