// What a participant may say to another: messages, signals and last words.

#include "core/transport/Control.h"
#include "job/PeerChannel.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

using namespace etc::runtime;

static void require(bool holds) {
  if (!holds)
    std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const PeerChannel channel(
      Socket(), 1, std::string(reinterpret_cast<const char *>(data), size));
  size_t bytes = 0;
  for (const std::string &message : channel.inbox) {
    require(message.size() <= Control::kMostBytes);
    bytes += message.size();
  }
  const std::string &cause = channel.failure().cause;
  require(bytes + cause.size() <= size);
  require(cause.size() <= Control::kMostCauseBytes);
  // One line, and only from a peer that gave up.
  require(std::none_of(cause.begin(), cause.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20;
  }));
  require(cause.empty() || channel.end() == PeerChannel::End::GaveUp);
  return 0;
}
