#include "job/Wire.h"

#include "job/Bytes.h"

#include <cstring>

using namespace etc::runtime;

/// Payloads are at most this long; the largest are the addresses of a large
/// job.
constexpr uint32_t kLargestPayload = 1 << 20;
constexpr size_t kHeaderBytes = 8;
constexpr size_t kLongestMessage = 4000;

static_assert(sizeof(Hello) == 48, "the format has no padding");

void etc::runtime::setStanding(Hello &hello, const Standing &standing) {
  hello.landed = standing.landed;
  hello.acknowledged = standing.acknowledged;
  hello.flags = standing.told();
}

Standing etc::runtime::standingOf(const Hello &hello) {
  Standing standing;
  standing.landed = hello.landed;
  standing.acknowledged = hello.acknowledged;
  standing.released = hello.mode == Mode::Eager ? hello.acknowledged : 0;
  standing.hear(hello.flags);
  return standing;
}

std::optional<Hello> etc::runtime::parseHello(std::string_view bytes) {
  const Hello expected;
  Hello hello;
  if (bytes.size() != sizeof hello)
    return std::nullopt;
  std::memcpy(&hello, bytes.data(), sizeof hello);
  if (std::memcmp(hello.magic, expected.magic, sizeof hello.magic) != 0)
    return std::nullopt;
  return hello;
}

std::string etc::runtime::formatFrame(FrameKind kind,
                                      std::string_view payload) {
  std::string out;
  putBytes(out, static_cast<uint32_t>(kind));
  putBytes(out, static_cast<uint32_t>(payload.size()));
  return out.append(payload);
}

std::string etc::runtime::formatRound(uint32_t round) {
  std::string out;
  putBytes(out, round);
  return out;
}

std::optional<uint32_t> etc::runtime::parseRound(std::string_view payload) {
  uint32_t round = 0;
  ByteReader in(payload);
  return in.take(round) && in.rest.empty() ? std::optional(round)
                                           : std::nullopt;
}

std::string etc::runtime::formatPair(std::string_view key,
                                     std::string_view value) {
  std::string out;
  putText(out, key);
  return out.append(value);
}

std::optional<std::pair<std::string, std::string>>
etc::runtime::parsePair(std::string_view payload) {
  std::string key;
  ByteReader in(payload);
  if (!in.take(key, kLargestPayload * 8))
    return std::nullopt;
  return std::pair(std::move(key), std::string(in.rest));
}

std::string etc::runtime::formatFailure(const Status &failure) {
  std::string out;
  putBytes(out, static_cast<uint32_t>(failure.kind()));
  return out.append(failure.message(), 0, kLongestMessage);
}

std::optional<Status> etc::runtime::parseFailure(std::string_view payload) {
  uint32_t kind = 0;
  ByteReader in(payload);
  if (!in.take(kind) || kind < static_cast<uint32_t>(ErrorKind::Usage) ||
      kind > static_cast<uint32_t>(ErrorKind::Peer))
    return std::nullopt;
  return Status(static_cast<ErrorKind>(kind), oneLine(in.rest));
}

std::string etc::runtime::formatWelcome(const std::vector<Hello> &hellos) {
  std::string out;
  for (const Hello &hello : hellos)
    putBytes(out, hello);
  return out;
}

std::optional<std::vector<Standing>>
etc::runtime::parseWelcome(std::string_view payload, uint32_t rankCount) {
  if (payload.size() != uint64_t{rankCount} * sizeof(Hello))
    return std::nullopt;
  std::vector<Standing> standings;
  for (size_t at = 0; at != payload.size(); at += sizeof(Hello)) {
    std::optional<Hello> hello = parseHello(payload.substr(at, sizeof(Hello)));
    if (!hello)
      return std::nullopt;
    standings.push_back(standingOf(*hello));
  }
  return standings;
}

/// How long the payload of a kind may be; nothing for a kind there is not.
static std::optional<uint32_t> largestPayload(uint32_t kind) {
  switch (static_cast<FrameKind>(kind)) {
  case FrameKind::Stop:
  case FrameKind::Bye:
    return 0;
  case FrameKind::Beat:
    return sizeof(uint32_t);
  case FrameKind::Failed:
  case FrameKind::Cause:
  case FrameKind::Get:
    return 4096;
  case FrameKind::Welcome:
    return kLargestPayload * 8;
  case FrameKind::Put:
  case FrameKind::Value:
    return kLargestPayload;
  }
  return std::nullopt;
}

Result<std::optional<Frame>> FrameReader::next() {
  ByteReader in(buffer);
  uint32_t kind = 0, length = 0;
  if (!in.take(kind) || !in.take(length))
    return std::optional<Frame>();
  std::optional<uint32_t> largest = largestPayload(kind);
  if (!largest)
    return etc::plan::malformed("a control frame of unknown kind ", kind);
  if (length > *largest)
    return etc::plan::malformed("a control frame of ", length,
                                " bytes, at most ", *largest, " are allowed");
  if (in.rest.size() < length)
    return std::optional<Frame>();
  Frame frame{static_cast<FrameKind>(kind),
              std::string(in.rest.substr(0, length))};
  buffer.erase(0, kHeaderBytes + length);
  return std::optional<Frame>(std::move(frame));
}
