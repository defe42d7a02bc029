// Traces for Perfetto and Chrome.

#ifndef ETC_RUN_TRACEFILE_H
#define ETC_RUN_TRACEFILE_H

#include "core/engine/Trace.h"
#include "core/plan/Status.h"

#include <string>

namespace etc::run {

/// Whether a trace can be written there, as far as can be told before.
plan::Status checkTraceFile(const std::string &path);

/// Writes a trace in Chrome's JSON: a row a device, an entry a step.
plan::Status writeTrace(const std::string &path, const runtime::TraceLog &log);

/// A predicted round of a device, in seconds from the start.
struct PredictedRound {
  uint32_t device, round;
  double begin, end;
  uint64_t liveBytes;  // while it runs
  uint64_t bytesAfter; // when it has released
};

/// Writes a prediction in the same form: an entry a round, and a counter of
/// what each device holds.
plan::Status writePrediction(const std::string &path,
                             const std::vector<PredictedRound> &rounds);

/// Where a process of several writes its own trace.
std::string tracePart(const std::string &path, uint32_t rank);

/// Joins the traces of processes 0 to count - 1 of this host, and removes them.
plan::Status joinTraces(const std::string &path, uint32_t count);

} // namespace etc::run

#endif // ETC_RUN_TRACEFILE_H
