// What survivors of a failure may say of themselves, and the list of them.

#include "recovery/Agreement.h"

#include <cstdlib>
#include <string_view>

using namespace etc::runtime;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const std::string_view text(reinterpret_cast<const char *>(data), size);
  const auto members = parseMembers(text);
  if (!members)
    return 0;
  // What was read is written in one way, and read again as the same.
  const std::string written = formatMembers(*members);
  const auto again = parseMembers(written);
  if (!again || again->size() != members->size() ||
      formatMembers(*again) != written)
    std::abort();
  return 0;
}
