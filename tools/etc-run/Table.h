// What a migration did, for people and for programs.

#ifndef ETC_RUN_TABLE_H
#define ETC_RUN_TABLE_H

#include "core/engine/DeviceRun.h"

#include <string>
#include <vector>

namespace etc::run {

/// Figures of all devices together.
struct Totals {
  uint64_t movedBytes = 0;
  uint64_t internodeBytes = 0;
  double prepareSeconds = 0; // of the slowest device
  double seconds = 0;        // of the slowest device
  double pauseSeconds = 0;   // until the last device had but deferred rounds
  double gbPerSecond = 0;
  double internodeGbPerSecond = 0;
  /// Of the speed of bare messages; 0 where they were not measured.
  double ceilingShare = 0;
  double peakRatio = 0; // the largest of all devices
  double provedRatio = 0;
  bool verified = true;
};

Totals sumUp(const std::vector<runtime::DeviceReport> &reports);

/// The busier direction over the time, in 10^9 bytes a second; 0 where there is
/// no time.
double gbPerSecond(const runtime::DeviceReport &report);
/// Bytes over the larger of the two states.
double ratio(uint64_t bytes, const runtime::DeviceReport &report);

/// An aligned table with a row a device, or their minimum, median and maximum,
/// and one for all.
std::string formatTable(const std::vector<runtime::DeviceReport> &reports,
                        bool allRows);

/// Lines below the table: where the time went and, where it was measured, what
/// share of the speed of bare messages was reached.
std::string formatTimes(const std::vector<runtime::DeviceReport> &reports);

/// The same figures as a JSON object. `verified` is null where nothing was
/// checked.
std::string formatJson(const std::vector<runtime::DeviceReport> &reports,
                       const std::string &transport, bool checked);

} // namespace etc::run

#endif // ETC_RUN_TABLE_H
