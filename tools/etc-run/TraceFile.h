// Traces for Perfetto and Chrome.

#ifndef ETC_RUN_TRACEFILE_H
#define ETC_RUN_TRACEFILE_H

#include "engine/Trace.h"
#include "plan/Status.h"

#include <string>

namespace etc::run {

/// Writes a trace in Chrome's JSON: a row a device, an entry a step.
plan::Status writeTrace(const std::string &path, const runtime::TraceLog &log);

/// Where a process of several writes its own trace.
std::string tracePart(const std::string &path, uint32_t rank);

/// Joins the traces of processes 0 to count - 1 of this host, and removes them.
plan::Status joinTraces(const std::string &path, uint32_t count);

} // namespace etc::run

#endif // ETC_RUN_TRACEFILE_H
