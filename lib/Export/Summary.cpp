//===- Summary.cpp - What a plan does, for people -------------------------===//

#include "core/plan/Certificates.h"
#include "core/plan/Configuration.h"
#include "core/plan/TimeBound.h"
#include "etc/Export/PlanText.h"

#include "llvm/Support/Format.h"

#include <algorithm>

using namespace etc;
namespace fb = etc::plan::fb;

std::string etc::formatBytes(uint64_t bytes) {
  const char *units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
  double value = bytes;
  unsigned unit = 0;
  for (; value >= 999.995 && unit < 5; ++unit)
    value /= 1000;
  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::format(unit == 0 ? "%.0f %s" : "%.2f %s", value, units[unit]);
  return text;
}

std::string etc::formatSeconds(double seconds) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (seconds < 1)
    os << llvm::format("%.4g ms", 1000 * seconds);
  else
    os << llvm::format("%.4g s", seconds);
  return text;
}

static uint64_t highestPeak(const fb::Plan &plan) {
  uint64_t peak = 0;
  for (const fb::Program *program : *plan.programs())
    peak = std::max(peak, program->peak());
  return peak;
}

static uint64_t highestTailPeak(const fb::Plan &plan) {
  uint64_t peak = 0;
  for (const fb::Program *program : *plan.programs())
    peak = std::max(peak, program->tail_peak());
  return peak;
}

static uint32_t nodesInUse(const fb::Plan &plan, const plan::PlanIndex &index) {
  std::vector<uint32_t> nodes;
  for (uint32_t device : *plan.curr_placement())
    nodes.push_back(index.nodeOf(device));
  std::sort(nodes.begin(), nodes.end());
  return std::unique(nodes.begin(), nodes.end()) - nodes.begin();
}

/// What plans that the bounds do not hold for may do.
static llvm::StringRef describeExceptions(const plan::Exceptions &exceptions) {
  if (exceptions.relays && exceptions.recomputation)
    return " without relays or recomputation";
  if (exceptions.relays)
    return " without relays";
  return exceptions.recomputation ? " without recomputation" : "";
}

static const char *howFound(const runtime::PlanTime &time) {
  return time.isSimulated ? " predicted" : " estimated";
}

/// What stops training, of the time that all takes.
static void writePause(const plan::PlanIndex &index,
                       const runtime::PlanTime &time, llvm::raw_ostream &os) {
  os << "  pause    " << formatSeconds(time.pauseSeconds) << howFound(time)
     << ", " << index.firstDeferredRound() << " of "
     << index.plan().forecast()->size() << " rounds";
  if (!index.hasTail())
    os << ", since no deferred state moves";
  if (time.pauseBoundSeconds > 0)
    os << "; at least " << formatSeconds(time.pauseBoundSeconds) << ": "
       << plan::describeBound(index, index.plan().pause_bound());
  os << "\n";
}

/// What other roles could save at most.
static void writeRoleBound(const plan::PlanIndex &index,
                           const runtime::PlanTime &time,
                           llvm::raw_ostream &os) {
  if (time.roleBoundSeconds <= 0)
    return;
  // Both are made of whole bytes and nanoseconds, and may be the same.
  const double above =
      std::max(0.0, time.portSeconds / time.roleBoundSeconds - 1);
  os << "  roles    " << formatSeconds(time.roleBoundSeconds)
     << " at least for all that the request allows: "
     << plan::describeRoleBound(index.plan().role_bound())
     << llvm::format("; busiest port %.1f%% above\n", 100 * above);
}

/// The bound with its witness, and on which cluster.
static void writeTime(const PlanFacts &facts, llvm::raw_ostream &os) {
  const plan::PlanIndex &index = facts.getIndex();
  const std::optional<runtime::PlanTime> &time = facts.getTime();
  if (!time)
    return;
  const fb::Resources &resources = *index.plan().resources();
  os << "  time     " << formatSeconds(time->predictedSeconds)
     << howFound(*time) << ", busiest port " << formatSeconds(time->portSeconds)
     << ", on " << resources.name()->str()
     << (resources.assumed() ? " (assumed; name yours with --cluster=...@NAME)"
                             : "")
     << "\n";
  if (time->boundSeconds > 0)
    os << "  least    " << formatSeconds(time->boundSeconds)
       << " for these roles: "
       << plan::describeBound(index, index.plan().time_bound()) << "\n";
  writeRoleBound(index, *time, os);
  if (plan::defersState(index))
    writePause(index, *time, os);
}

void etc::writeSummary(const fb::Plan &plan, llvm::raw_ostream &os) {
  writeSummary(PlanFacts(plan), os);
}

void etc::writeSummary(const PlanFacts &facts, llvm::raw_ostream &os,
                       bool derives) {
  const plan::PlanIndex &index = facts.getIndex();
  const fb::Plan &plan = facts.getPlan();
  const fb::Summary &s = *plan.summary();
  const plan::PeakRatios &ratios = facts.getPeakRatios();
  const uint64_t stays = s.moved_bytes() - s.transit_bytes();
  uint64_t held = stays + s.kept_bytes() + s.zeroed_bytes() + s.derived_bytes();
  auto share = [&](uint64_t bytes) {
    return held ? 100.0 * bytes / held : 0.0;
  };

  os << plan.model()->str() << ": " << plan::describe(*plan.prev()) << " -> "
     << plan::describe(*plan.curr()) << ", " << plan::worldOf(*plan.prev())
     << " -> " << plan::worldOf(*plan.curr()) << " devices, "
     << nodesInUse(plan, index) << " of " << plan.nodes()->size()
     << " nodes in use\n";
  os << "  moves    " << formatBytes(stays) << " of " << formatBytes(held)
     << llvm::format(" (%.1f%%)", share(stays)) << ", "
     << formatBytes(s.internode_bytes()) << " between nodes\n";
  os << "  keeps    " << formatBytes(s.kept_bytes())
     << llvm::format(" (%.1f%%)", share(s.kept_bytes())) << " in place";
  if (s.derived_bytes())
    os << ", derives " << formatBytes(s.derived_bytes()) << " where it lands";
  if (derives && facts.movesCastsOfInventory())
    os << ", derives nothing of an inventory";
  if (s.zeroed_bytes())
    os << ", zeroes " << formatBytes(s.zeroed_bytes()) << " of new padding";
  const uint64_t relayed = facts.getRelayedBytes();
  const plan::Exceptions exceptions = plan::exceptionsOf(plan);
  bool isLeast = s.bound_moved_bytes() == stays &&
                 s.bound_internode_bytes() == s.internode_bytes();
  os << "\n  bound    " << formatBytes(s.bound_moved_bytes()) << ", "
     << formatBytes(s.bound_internode_bytes()) << " between nodes"
     << describeExceptions(exceptions) << ": "
     << (isLeast ? "least of all role assignments"
                 : "no role assignment needs less of either")
     << (exceptions.twins ? ", tied copies apart" : "")
     << " (dual certificates)\n";
  if (const fb::Volumes *paper = s.paper_policy())
    os << "  paper    moves " << formatBytes(paper->moved_bytes()) << ", "
       << formatBytes(paper->internode_bytes())
       << " between nodes; busiest receives "
       << formatBytes(paper->max_recv_bytes()) << "\n";
  os << "  busiest  sends " << formatBytes(s.max_send_bytes()) << ", receives "
     << formatBytes(s.max_recv_bytes()) << "\n";
  writeTime(facts, os);
  if (relayed)
    os << "  relays   pass on " << formatBytes(relayed)
       << " that they have just received\n";
  if (s.transit_bytes())
    os << "  transit  " << formatBytes(s.transit_bytes())
       << " go through devices that do not keep them\n";
  os << "  memory   peak " << formatBytes(highestPeak(plan))
     << llvm::format(", %.4f x max(prev, curr) at worst; %.4f x in safe mode\n",
                     ratios.peak, ratios.peakSafe);
  if (index.hasTail())
    os << "  tail     peak " << formatBytes(highestTailPeak(plan))
       << " with gradients of " << plan.gradient_bytes()
       << " bytes a parameter\n";
  os << "  rounds   " << plan.forecast()->size() << ", "
     << plan.programs()->size() << " programs for " << index.rankCount()
     << " participants\n";
}
