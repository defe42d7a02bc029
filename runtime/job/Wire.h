// The control channel's bytes, inside TLS: a greeting, then frames.
// docs/reliability.md has the protocol.

#ifndef ETC_RUNTIME_JOB_WIRE_H
#define ETC_RUNTIME_JOB_WIRE_H

#include "core/journal/Journal.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace etc::runtime {

/// What a process says first.
struct Hello {
  char magic[8] = {'E', 'T', 'C', 'C', 'T', 'R', 'L', '2'};
  uint64_t planHash = 0;
  uint32_t rank = 0;
  uint32_t rankCount = 0;
  Mode mode = Mode::Eager;
  uint32_t isResumed = 0;
  uint32_t landed = 0;
  uint32_t acknowledged = 0;
  uint32_t flags = 0; // of the standing
  uint32_t unused = 0;
};

/// A standing's part of a Hello.
void setStanding(Hello &hello, const Standing &standing);
Standing standingOf(const Hello &hello);

/// The bytes of a Hello, or nothing where they are none.
std::optional<Hello> parseHello(std::string_view bytes);

enum class FrameKind : uint32_t {
  Welcome = 1, // hub: all are here; payload: their Hellos
  Beat = 2,    // both: alive; payload: round
  Put = 3,     // member: payload: a key and a value
  Get = 4,     // member: payload: a key; answered by Value when there is one
  Value = 5,   // hub: payload: a key and a value
  Failed = 6,  // member: gives up; payload: a failure
  Stop = 7,    // hub: everybody gives up
  Cause = 8,   // hub: why; payload: a failure
  Bye = 9,     // member: done; hub: its process has told the user
};

struct Frame {
  FrameKind kind;
  std::string payload;
};

std::string formatFrame(FrameKind kind, std::string_view payload);
std::string formatRound(uint32_t round);
std::string formatPair(std::string_view key, std::string_view value);
std::string formatFailure(const Status &failure);

std::optional<uint32_t> parseRound(std::string_view payload);
std::optional<std::pair<std::string, std::string>>
parsePair(std::string_view payload);
std::optional<Status> parseFailure(std::string_view payload);

/// The Hellos of all ranks.
std::string formatWelcome(const std::vector<Hello> &hellos);
std::optional<std::vector<Standing>> parseWelcome(std::string_view payload,
                                                  uint32_t rankCount);

/// Cuts a stream into frames. It never holds more than one frame's bytes beyond
/// what it was fed.
class FrameReader {
public:
  void feed(std::string_view bytes) { buffer.append(bytes); }
  /// The next frame, if it is complete. The error is of kind Malformed; the
  /// stream is of no more use.
  Result<std::optional<Frame>> next();

private:
  std::string buffer;
};

} // namespace etc::runtime

#endif // ETC_RUNTIME_JOB_WIRE_H
