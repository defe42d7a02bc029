#include "Table.h"

#include "Units.h"

#include <algorithm>
#include <array>

using namespace etc::run;
using etc::runtime::DeviceReport;

/// Above this many devices rows are summed up.
constexpr size_t kMaxRows = 16;
constexpr size_t kColumns = 7;

using Row = std::array<std::string, kColumns>;

double etc::run::gbPerSecond(const DeviceReport &report) {
  if (report.seconds <= 0)
    return 0;
  uint64_t bytes = std::max(report.sentBytes, report.receivedBytes);
  return static_cast<double>(bytes) / report.seconds / 1e9;
}

double etc::run::ratio(uint64_t bytes, const DeviceReport &report) {
  return report.stateBytes == 0 ? 0
                                : static_cast<double>(bytes) /
                                      static_cast<double>(report.stateBytes);
}

Totals etc::run::sumUp(const std::vector<DeviceReport> &reports) {
  Totals totals;
  double ceiling = 0;
  for (const DeviceReport &report : reports) {
    totals.movedBytes += report.receivedBytes;
    totals.internodeBytes += report.internodeBytes;
    totals.prepareSeconds =
        std::max(totals.prepareSeconds, report.prepareSeconds);
    ceiling = std::max(ceiling, report.ceilingSeconds);
    totals.seconds = std::max(totals.seconds, report.seconds);
    totals.pauseSeconds = std::max(totals.pauseSeconds, report.pauseSeconds);
    totals.peakRatio =
        std::max(totals.peakRatio, ratio(report.peakBytes, report));
    totals.provedRatio =
        std::max(totals.provedRatio, ratio(report.provedBytes, report));
    totals.verified = totals.verified && report.verified;
  }
  if (totals.seconds > 0) {
    const double perByte = 1 / totals.seconds / 1e9;
    totals.gbPerSecond = static_cast<double>(totals.movedBytes) * perByte;
    totals.internodeGbPerSecond =
        static_cast<double>(totals.internodeBytes) * perByte;
    totals.ceilingShare = ceiling / totals.seconds;
  }
  return totals;
}

namespace {

/// One numeric column of the table.
struct Column {
  const char *title;
  double (*value)(const DeviceReport &report);
  std::string (*format)(double value);
};

std::string bytesText(double value) {
  return formatBytes(static_cast<uint64_t>(value));
}
std::string secondsText(double value) { return formatNumber(value, 3) + " s"; }
std::string rateText(double value) { return formatNumber(value, 2); }
std::string ratioText(double value) { return formatNumber(value, 3) + "x"; }

const Column kNumbers[kColumns - 1] = {
    {"sent", [](const DeviceReport &r) { return double(r.sentBytes); },
     bytesText},
    {"received", [](const DeviceReport &r) { return double(r.receivedBytes); },
     bytesText},
    {"time", [](const DeviceReport &r) { return r.seconds; }, secondsText},
    {"GB/s", [](const DeviceReport &r) { return gbPerSecond(r); }, rateText},
    {"peak", [](const DeviceReport &r) { return ratio(r.peakBytes, r); },
     ratioText},
    {"proved", [](const DeviceReport &r) { return ratio(r.provedBytes, r); },
     ratioText},
};

Row deviceRow(const DeviceReport &report) {
  Row row{std::to_string(report.device)};
  for (size_t c = 1; c != kColumns; ++c)
    row[c] = kNumbers[c - 1].format(kNumbers[c - 1].value(report));
  return row;
}

/// Every column by itself: position 0 is its least value, 1 its largest.
Row quantileRow(const char *name, double position,
                const std::vector<DeviceReport> &reports) {
  Row row{name};
  for (size_t c = 1; c != kColumns; ++c) {
    std::vector<double> values;
    values.reserve(reports.size());
    for (const DeviceReport &report : reports)
      values.push_back(kNumbers[c - 1].value(report));
    auto at = static_cast<size_t>(position * double(values.size() - 1));
    std::nth_element(values.begin(), values.begin() + at, values.end());
    row[c] = kNumbers[c - 1].format(values[at]);
  }
  return row;
}

Row totalRow(const std::vector<DeviceReport> &reports) {
  Totals totals = sumUp(reports);
  uint64_t sent = 0;
  for (const DeviceReport &report : reports)
    sent += report.sentBytes;
  return {"all",
          formatBytes(sent),
          formatBytes(totals.movedBytes),
          secondsText(totals.seconds),
          rateText(totals.gbPerSecond),
          ratioText(totals.peakRatio),
          ratioText(totals.provedRatio)};
}

} // namespace

std::string etc::run::formatTable(const std::vector<DeviceReport> &reports,
                                  bool allRows) {
  std::vector<Row> rows(1);
  rows[0][0] = "device";
  for (size_t c = 1; c != kColumns; ++c)
    rows[0][c] = kNumbers[c - 1].title;
  if (allRows || reports.size() <= kMaxRows) {
    for (const DeviceReport &report : reports)
      rows.push_back(deviceRow(report));
  } else {
    rows.push_back(quantileRow("min", 0, reports));
    rows.push_back(quantileRow("median", 0.5, reports));
    rows.push_back(quantileRow("max", 1, reports));
  }
  rows.push_back(totalRow(reports));

  std::array<size_t, kColumns> widths{};
  for (const Row &row : rows)
    for (size_t c = 0; c != kColumns; ++c)
      widths[c] = std::max(widths[c], row[c].size());
  std::string out;
  for (const Row &row : rows) {
    for (size_t c = 0; c != kColumns; ++c)
      out += std::string((c ? 2 : 0) + widths[c] - row[c].size(), ' ') + row[c];
    out += '\n';
  }
  return out;
}

std::string etc::run::formatTimes(const std::vector<DeviceReport> &reports) {
  Totals totals = sumUp(reports);
  // Of the slowest device: its parts add up to the time of all.
  auto slowest = std::max_element(
      reports.begin(), reports.end(),
      [](const auto &a, const auto &b) { return a.seconds < b.seconds; });
  const auto &times = slowest->times;
  std::string out =
      "prepared in " + secondsText(totals.prepareSeconds) + "; migrated in " +
      secondsText(totals.seconds) + " (pack " + secondsText(times.pack) +
      ", copy " + secondsText(times.copy) + ", wait " +
      secondsText(times.wait) + ", unpack " + secondsText(times.unpack) +
      ", acknowledge " + secondsText(times.acknowledge) + " on device " +
      std::to_string(slowest->device) + ")\n";
  if (totals.pauseSeconds < totals.seconds)
    out += "of these, pause " + secondsText(totals.pauseSeconds) +
           ", deferred rounds " +
           secondsText(totals.seconds - totals.pauseSeconds) + "\n";
  out += "inside nodes " +
         rateText(totals.gbPerSecond - totals.internodeGbPerSecond) +
         " GB/s, between nodes " + rateText(totals.internodeGbPerSecond) +
         " GB/s\n";
  uint64_t restored = 0;
  for (const DeviceReport &report : reports)
    restored += report.restoredBytes;
  if (restored > 0)
    out +=
        "restored " + std::to_string(restored) + " bytes from a checkpoint\n";
  if (totals.ceilingShare > 0)
    out += formatNumber(totals.ceilingShare * 100, 1) +
           "% of the speed of bare messages of the same bytes\n";
  return out;
}
