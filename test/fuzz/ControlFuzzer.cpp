// What may come over the control channel: greetings and frames, in pieces of
// any length.

#include "job/Wire.h"

#include <algorithm>
#include <cstdlib>

using namespace etc::runtime;

static void use(const Frame &frame) {
  (void)parseRound(frame.payload);
  (void)parsePair(frame.payload);
  for (uint32_t count : {0u, 1u, 3u})
    (void)parseWelcome(frame.payload, count);
  if (std::optional<Status> failure = parseFailure(frame.payload))
    if (failure->ok() || failure->message().find('\n') != std::string::npos)
      std::abort();
  // What was read is written as it was.
  FrameReader again;
  again.feed(formatFrame(frame.kind, frame.payload));
  Result<std::optional<Frame>> same = again.next();
  if (!same || !*same || (*same)->payload != frame.payload)
    std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string_view bytes(reinterpret_cast<const char *>(data), size);
  (void)parseHello(bytes);
  if (bytes.empty())
    return 0;
  // The first byte says how large the pieces are.
  const size_t step = 1 + static_cast<uint8_t>(bytes[0]);
  FrameReader reader;
  for (size_t at = 1; at < bytes.size(); at += step) {
    reader.feed(bytes.substr(at, std::min(step, bytes.size() - at)));
    while (true) {
      Result<std::optional<Frame>> frame = reader.next();
      if (!frame)
        return 0;
      if (!*frame)
        break;
      use(**frame);
    }
  }
  return 0;
}
