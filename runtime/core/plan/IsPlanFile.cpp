#include "core/plan/IsPlanFile.h"

#include "core/plan/InputFile.h"
#include "core/plan/plan_generated.h"

#include <array>
#include <limits>
#include <unistd.h>

using namespace etc::plan;

bool etc::plan::isPlanFile(const std::string &path) {
  // The root offset and the identifier.
  std::array<uint8_t, 8> header;
  Result<InputFile> file =
      InputFile::open(path, std::numeric_limits<uint64_t>::max());
  return file &&
         ::pread(file->fd(), header.data(), header.size(), 0) ==
             static_cast<ssize_t>(header.size()) &&
         fb::PlanBufferHasIdentifier(header.data());
}
