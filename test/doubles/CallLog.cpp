#include "CallLog.h"

#include "CudaTypes.h"
#include "GpuDouble.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <string_view>

using namespace etc::test;

static std::array<std::atomic<bool>, kMaxDevices> watched;
void etcDoubleWatch(unsigned device, bool isWatched) {
  watched[device] = isWatched;
}

void etc::test::logCall(const char *kind, const std::string &what, int device) {
  constexpr std::string_view forbidden[] = {"connect", "register", "create",
                                            "release", "wait-device"};
  const bool isWatched = device >= 0 && watched[static_cast<size_t>(device)];
  const bool isForbidden = std::find(std::begin(forbidden), std::end(forbidden),
                                     kind) != std::end(forbidden);
  if (isForbidden && isWatched)
    fault(std::string(kind) + " between the first round and the last: " + what);
  writeLog(kind, what + " on device " + std::to_string(device));
}

void etc::test::logCall(const char *kind, const std::string &what) {
  logCall(kind, what, currentDevice());
}
