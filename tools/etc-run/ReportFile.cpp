#include "ReportFile.h"

#include "OutputFile.h"
#include "Table.h"

#include "core/plan/InputFile.h"
#include "view/report/Report.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>

using namespace etc::run;
using namespace etc::runtime;
using etc::plan::ErrorKind;
using etc::plan::PlanIndex;
using etc::plan::Status;
using etc::plan::text;
using Json = nlohmann::json;

/// An error about the page, with its option.
static Status ofReport(const Status &status) {
  return status.ok() ? status
                     : Status(status.kind(), "--report=" + status.message());
}

Status etc::run::checkReportFile(const Options &options) {
  if (options.report.empty())
    return Status::success();
  return ofReport(checkOutputFile(options.report));
}

std::string etc::run::traceForReport(const Options &options) {
  // There is no place for one beside a device.
  if (options.report.empty() || !options.trace.empty() ||
      std::filesystem::is_character_file(options.report))
    return options.trace;
  return options.report + ".trace";
}

/// When every device ended every round, in seconds from the first begin.
static std::vector<std::vector<double>> readRoundEnds(const PlanIndex &index,
                                                      const std::string &path) {
  constexpr uint64_t mostBytes = uint64_t{1} << 32;
  const auto content = etc::plan::readInput(path, mostBytes);
  const Json json = content ? Json::parse(*content, nullptr, false) : Json();
  if (!json.is_object())
    return {};
  std::vector<std::vector<double>> ends(
      index.rankCount(), std::vector<double>(index.plan().forecast()->size()));
  double start = std::numeric_limits<double>::infinity();
  for (const Json &event : json["traceEvents"])
    if (event["ph"] == "X")
      start = std::min(start, event["ts"].get<double>());
  for (const Json &event : json["traceEvents"]) {
    if (event["ph"] != "X")
      continue;
    auto rank = index.rankOf(event["tid"].get<uint32_t>());
    const auto round = event["args"]["round"].get<uint32_t>();
    if (!rank || round >= ends[*rank].size())
      continue;
    const double end =
        event["ts"].get<double>() + event["dur"].get<double>() - start;
    ends[*rank][round] = std::max(ends[*rank][round], end / 1e6);
  }
  // A device that has nothing to do in a round passes it at once.
  for (std::vector<double> &device : ends)
    for (size_t round = 1; round < device.size(); ++round)
      device[round] = std::max(device[round], device[round - 1]);
  return ends;
}

static Measured measure(const PlanIndex &index, const Options &options,
                        const RunResult &result, const std::string &trace) {
  Measured measured;
  measured.transport = transportName(options.transport);
  measured.isVerified = options.verify == Verify::Full && result.status.ok();
  measured.devices.resize(index.rankCount());
  for (const DeviceReport &report : result.reports) {
    measured.seconds = std::max(measured.seconds, report.seconds);
    if (auto rank = index.rankOf(report.device))
      measured.devices[*rank] = {report.seconds, report.peakBytes};
  }
  if (!trace.empty())
    measured.roundEnds = readRoundEnds(index, trace);
  if (options.trace.empty() && !trace.empty())
    std::remove(trace.c_str());
  return measured;
}

Status etc::run::writeReport(const PlanIndex &index, const Options &options,
                             const RunResult &result,
                             const std::string &trace) {
  ReportInput input{index, defaultCluster(index), "etc-run"};
  if (!options.cluster.empty()) {
    auto cluster = readCluster(options.cluster);
    if (!cluster)
      return cluster.status();
    input.cluster = *cluster;
  }
  if (!result.reports.empty()) {
    input.measured = measure(index, options, result, trace);
    input.notes = formatTable(result.reports, options.allRows) +
                  formatTimes(result.reports);
  }
  return ofReport(writeOutputFile(options.report, reportPage(input)));
}
