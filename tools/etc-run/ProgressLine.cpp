#include "ProgressLine.h"

#include "Units.h"

#include <iostream>
#include <unistd.h>

using namespace etc::run;
using Clock = std::chrono::steady_clock;

constexpr auto kInterval = std::chrono::milliseconds(100);

static bool decide(ProgressMode mode) {
  return mode == ProgressMode::On ||
         (mode == ProgressMode::Auto && ::isatty(STDERR_FILENO));
}

ProgressLine::ProgressLine(const plan::PlanIndex &index,
                           const runtime::Progress &progress, ProgressMode mode)
    : progress(progress), isOn_(decide(mode)),
      totalBytes(index.plan().summary()->moved_bytes()),
      rounds(index.plan().forecast()->size()), last(Clock::now()) {
  for (const auto *program : *index.plan().programs())
    deviceRounds +=
        uint64_t{program->rounds()->size()} * program->devices()->size();
}

void ProgressLine::update() {
  if (!isOn_ || Clock::now() - last < kInterval)
    return;
  last = Clock::now();
  uint64_t finished = progress.finishedRounds;
  uint64_t bytes = progress.receivedBytes;
  std::string line =
      finished == 0 && bytes == 0 ? "filling the previous state"
      : finished == deviceRounds
          ? "verifying"
          : plan::text("round ", finished * rounds / deviceRounds + 1, " of ",
                       rounds, ", ", formatBytes(bytes), " of ",
                       formatBytes(totalBytes), " moved");
  size_t length = line.size();
  line.resize(std::max(width, length), ' ');
  width = length;
  std::cerr << '\r' << line << std::flush;
}

ProgressLine::~ProgressLine() {
  if (width > 0)
    std::cerr << '\r' << std::string(width, ' ') << '\r' << std::flush;
}
