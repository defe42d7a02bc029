#include "Table.h"

#include <nlohmann/json.hpp>

using namespace etc::run;
using etc::runtime::DeviceReport;
using Json = nlohmann::ordered_json;

static Json deviceObject(const DeviceReport &report, bool checked) {
  return {{"device", report.device},
          {"sent_bytes", report.sentBytes},
          {"received_bytes", report.receivedBytes},
          {"internode_bytes", report.internodeBytes},
          {"restored_bytes", report.restoredBytes},
          {"prepare_seconds", report.prepareSeconds},
          {"seconds", report.seconds},
          {"pause_seconds", report.pauseSeconds},
          {"pack_seconds", report.times.pack},
          {"copy_seconds", report.times.copy},
          {"wait_seconds", report.times.wait},
          {"unpack_seconds", report.times.unpack},
          {"acknowledge_seconds", report.times.acknowledge},
          {"verify_seconds", report.verifySeconds},
          {"gb_per_second", gbPerSecond(report)},
          {"peak_bytes", report.peakBytes},
          {"proved_peak_bytes", report.provedBytes},
          {"slab_bytes", report.slabBytes},
          {"held_bytes", report.heldBytes},
          {"transport_bytes", report.transportBytes},
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
              {"internode_bytes", totals.internodeBytes},
              {"prepare_seconds", totals.prepareSeconds},
              {"seconds", totals.seconds},
              {"pause_seconds", totals.pauseSeconds},
              {"gb_per_second", totals.gbPerSecond},
              {"internode_gb_per_second", totals.internodeGbPerSecond},
              {"ceiling_share",
               totals.ceilingShare > 0 ? Json(totals.ceilingShare) : Json()},
              {"peak_ratio", totals.peakRatio},
              {"proved_peak_ratio", totals.provedRatio},
              {"verified", checked ? Json(totals.verified) : Json()},
              {"devices", devices}};
  return out.dump(2) + "\n";
}
