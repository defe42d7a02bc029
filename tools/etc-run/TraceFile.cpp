#include "TraceFile.h"

#include "OutputFile.h"
#include "core/plan/InputFile.h"

#include <nlohmann/json.hpp>

#include <cstdio>
#include <filesystem>

using namespace etc::run;
using namespace etc::runtime;
using etc::plan::ErrorKind;
using etc::plan::Status;
using Json = nlohmann::ordered_json;

static double microseconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

Status etc::run::checkTraceFile(const std::string &path) {
  if (path.empty())
    return Status::success();
  // Processes write beside it, so it is in a folder for files.
  if (std::filesystem::is_character_file(path))
    return Status(ErrorKind::Usage,
                  path + ": expected a regular file, got a device");
  return checkOutputFile(path);
}

static Status writeEvents(const std::string &path, const Json &events) {
  return writeOutputFile(
      path,
      Json{{"displayTimeUnit", "ms"}, {"traceEvents", events}}.dump() + "\n");
}

static Json nameOf(uint32_t device) {
  return {{"name", "thread_name"},
          {"ph", "M"},
          {"pid", 0},
          {"tid", device},
          {"args", {{"name", etc::plan::text("device ", device)}}}};
}

Status etc::run::writeTrace(const std::string &path, const TraceLog &log) {
  Json events = Json::array();
  for (const TraceEvent &event : log.events())
    events.push_back({{"name", event.step},
                      {"ph", "X"},
                      {"pid", 0},
                      {"tid", event.device},
                      {"ts", microseconds(event.begin.time_since_epoch())},
                      {"dur", microseconds(event.end - event.begin)},
                      {"args", {{"round", event.round}}}});
  for (const TraceEvent &event : log.events())
    if (event.round == 0)
      events.push_back(nameOf(event.device));
  return writeEvents(path, events);
}

/// Null where the file is none of these.
static Json readTrace(const std::string &path) {
  constexpr uint64_t mostBytes = uint64_t{1} << 32;
  const auto content = etc::plan::readInput(path, mostBytes);
  return content ? Json::parse(*content, nullptr, false) : Json();
}

static Json counter(uint32_t device, double seconds, uint64_t bytes) {
  return {{"name", etc::plan::text("bytes of device ", device)},
          {"ph", "C"},
          {"pid", 0},
          {"tid", device},
          {"ts", seconds * 1e6},
          {"args", {{"live", bytes}}}};
}

Status etc::run::writePrediction(const std::string &path,
                                 const std::vector<PredictedRound> &rounds) {
  Json events = Json::array();
  for (const PredictedRound &round : rounds) {
    if (round.round == 0)
      events.push_back(nameOf(round.device));
    events.push_back({{"name", "round"},
                      {"ph", "X"},
                      {"pid", 0},
                      {"tid", round.device},
                      {"ts", round.begin * 1e6},
                      {"dur", (round.end - round.begin) * 1e6},
                      {"args", {{"round", round.round}}}});
    events.push_back(counter(round.device, round.begin, round.liveBytes));
    events.push_back(counter(round.device, round.end, round.bytesAfter));
  }
  return writeEvents(path, events);
}

std::string etc::run::tracePart(const std::string &path, uint32_t rank) {
  return etc::plan::text(path, ".", rank);
}

Status etc::run::joinTraces(const std::string &path, uint32_t count) {
  Json events = Json::array();
  for (uint32_t rank = 0; rank != count; ++rank) {
    const std::string part = tracePart(path, rank);
    const Json json = readTrace(part);
    if (json.is_object())
      for (const Json &event : json["traceEvents"])
        events.push_back(event);
    std::remove(part.c_str());
  }
  return writeEvents(path, events);
}
