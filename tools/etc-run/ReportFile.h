// A migration as an HTML page: --report.

#ifndef ETC_RUN_REPORTFILE_H
#define ETC_RUN_REPORTFILE_H

#include "Options.h"
#include "Process.h"

#include "core/plan/PlanIndex.h"

namespace etc::run {

/// Whether the page can be written when all is done; the error says what to
/// name instead.
plan::Status checkReportFile(const Options &options);

/// Where a run has to leave its trace for the page; empty where it need not.
std::string traceForReport(const Options &options);

/// Writes the page of a plan that was executed, or only looked at: then there
/// are no reports. Rounds are measured where `trace` names the file that
/// traceForReport() asked for, which goes unless the user wants it too.
plan::Status writeReport(const plan::PlanIndex &index, const Options &options,
                         const RunResult &result, const std::string &trace);

} // namespace etc::run

#endif // ETC_RUN_REPORTFILE_H
