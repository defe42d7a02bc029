// A migration as one HTML page that needs no network: what changes, what moves
// where and when, and what it takes. docs/report.md explains the page.

#ifndef ETC_RUNTIME_VIEW_REPORT_REPORT_H
#define ETC_RUNTIME_VIEW_REPORT_REPORT_H

#include "core/plan/PlanIndex.h"
#include "view/simulate/Cluster.h"

#include <optional>
#include <string>
#include <vector>

namespace etc::runtime {

/// What a run came to, by rank.
struct Measured {
  struct Device {
    double seconds = 0;
    uint64_t peakBytes = 0;
  };
  std::string transport; // "local", "tcp" or "nccl"
  bool isVerified = false;
  /// Of the slowest device.
  double seconds = 0;
  std::vector<Device> devices;
  /// By rank and round, in seconds from the first device's start; empty where
  /// no device was traced.
  std::vector<std::vector<double>> roundEnds;
};

struct ReportInput {
  const plan::PlanIndex &index;
  /// What the times are predicted for.
  Cluster cluster;
  /// Who made the page: "etc-opt", "etc-run".
  std::string maker;
  /// Further words of the maker, as plain text; may be empty.
  std::string notes = {};
  std::optional<Measured> measured = {};
  /// The price of the placement as JSON, as docs/which-nodes.md has it.
  std::string price = "null";
};

/// What the plan states; where it states nothing, devices of nodes with H100
/// GPUs: 450 GB/s inside a node, 50 GB/s between nodes, one port a device.
Cluster defaultCluster(const plan::PlanIndex &index);

/// What the page draws, as JSON.
std::string reportJson(const ReportInput &input);

/// The page itself.
std::string reportPage(const ReportInput &input);

} // namespace etc::runtime

#endif // ETC_RUNTIME_VIEW_REPORT_REPORT_H
