#include "Table.h"

#include <nlohmann/json.hpp>

using namespace etc::run;
using etc::runtime::DeviceReport;
using Json = nlohmann::ordered_json;

static Json deviceObject(const DeviceReport &report, bool checked) {
  return {{"device", report.device},
          {"sent_bytes", report.sentBytes},
          {"received_bytes", report.receivedBytes},
          {"seconds", report.seconds},
          {"gb_per_second", gbPerSecond(report)},
          {"peak_bytes", report.peakBytes},
          {"proved_peak_bytes", report.provedBytes},
          {"state_bytes", report.stateBytes},
          {"verified", checked ? Json(report.verified != 0) : Json()}};
}

std::string etc::run::formatJson(const std::vector<DeviceReport> &reports,
                                 const std::string &transport, bool checked) {
  Totals totals = sumUp(reports);
  Json devices = Json::array();
  for (const DeviceReport &report : reports)
    devices.push_back(deviceObject(report, checked));
  Json out = {{"format", "etc-run"},
              {"version", 1},
              {"transport", transport},
              {"moved_bytes", totals.movedBytes},
              {"seconds", totals.seconds},
              {"gb_per_second", totals.gbPerSecond},
              {"peak_ratio", totals.peakRatio},
              {"proved_peak_ratio", totals.provedRatio},
              {"verified", checked ? Json(totals.verified) : Json()},
              {"devices", devices}};
  return out.dump(2) + "\n";
}
