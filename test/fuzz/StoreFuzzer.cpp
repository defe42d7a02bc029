// What the processes of a job's store may say to each other.

#include "job/store/StoreMessage.h"

#include <cstdlib>
#include <string_view>

using namespace etc::runtime;

static void require(bool holds) {
  if (!holds)
    std::abort();
}

/// Another reader takes the message for the same one.
static void requireRoundTrip(const StoreMessage &message) {
  StoreReader reader;
  reader.buffer() = formatStoreMessage(message);
  const auto again = reader.next();
  require(again.ok() && again->has_value() && **again == message);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  StoreReader reader;
  reader.buffer().assign(reinterpret_cast<const char *>(data), size);
  size_t bytes = 0;
  while (true) {
    const auto message = reader.next();
    if (!message.ok() || !message->has_value())
      break;
    const StoreMessage &told = **message;
    bytes += told.key.size() + told.value.size();
    require(told.key.size() <= kMostKeyBytes);
    require(told.members.processes().size() <= kMostJobProcesses);
    requireRoundTrip(told);
  }
  require(bytes <= size);
  return 0;
}
