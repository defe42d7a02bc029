// One line on stderr that says how far a migration is.

#ifndef ETC_RUN_PROGRESSLINE_H
#define ETC_RUN_PROGRESSLINE_H

#include "Options.h"
#include "core/engine/RoundExecutor.h"

#include <chrono>

namespace etc::run {

class ProgressLine {
public:
  ProgressLine(const plan::PlanIndex &index, const runtime::Progress &progress,
               ProgressMode mode);
  /// Clears the line.
  ~ProgressLine();

  bool isOn() const { return isOn_; }
  /// Writes the line over the one before, not more often than is readable.
  void update();

private:
  const runtime::Progress &progress;
  const bool isOn_;
  uint64_t totalBytes;
  uint64_t rounds;
  uint64_t deviceRounds = 0; // summed over devices
  std::chrono::steady_clock::time_point last;
  size_t width = 0;
};

} // namespace etc::run

#endif // ETC_RUN_PROGRESSLINE_H
