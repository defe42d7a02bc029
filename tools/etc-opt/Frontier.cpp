//===- Frontier.cpp - --frontier ------------------------------------------===//

#include "Frontier.h"

#include "Outputs.h"
#include "Planner.h"
#include "Rates.h"
#include "etc/Export/PlanText.h"
#include "plan/Configuration.h"
#include "plan/PlanIndex.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/Support/Format.h"

using namespace etc;
using namespace mlir;
namespace fb = etc::plan::fb;

namespace {
/// A placement and objective, and what its plan does.
struct Row {
  std::string place;
  bool totalFirst;
  std::string refusal; ///< why there is no plan; else empty
  uint64_t moved = 0, internode = 0, splitGroups = 0, nodesUsed = 0,
           nodesFreed = 0, microseconds = 0;
  /// Between nodes; only without relays, where the row has none.
  uint64_t bound = 0;

  /// Whether the other row is nowhere better, and somewhere worse.
  bool beats(const Row &other) const {
    auto key = [](const Row &row) {
      return std::array{row.moved, row.internode, row.splitGroups,
                        row.nodesUsed};
    };
    return refusal.empty() && key(*this) != key(other) &&
           llvm::all_of(llvm::zip(key(*this), key(other)), [](auto pair) {
             return std::get<0>(pair) <= std::get<1>(pair);
           });
  }
};
} // namespace

static llvm::SmallSet<uint32_t, 16> nodesOf(const plan::PlanIndex &index,
                                            const auto &devices) {
  llvm::SmallSet<uint32_t, 16> nodes;
  for (uint32_t device : devices)
    nodes.insert(index.nodeOf(device));
  return nodes;
}

/// TP is the fastest dimension of a rank, so a group is a run of ranks.
static void measure(const fb::Plan &plan, uint32_t tp, const Rates &rates,
                    Row &row) {
  plan::PlanIndex index(plan);
  auto toVector = [](const auto &list) {
    return SmallVector<uint32_t>(list.begin(), list.end());
  };
  SmallVector<uint32_t> prev = toVector(*plan.prev_placement()),
                        curr = toVector(*plan.curr_placement());
  for (size_t rank = 0; rank < curr.size(); rank += tp)
    row.splitGroups +=
        nodesOf(index, ArrayRef(curr).slice(rank, tp)).size() > 1;
  auto used = nodesOf(index, curr);
  row.nodesUsed = used.size();
  for (uint32_t node : nodesOf(index, prev))
    row.nodesFreed += !used.contains(node);
  row.moved = plan.summary()->moved_bytes();
  row.internode = plan.summary()->internode_bytes();
  row.bound = plan.summary()->bound_internode_bytes();
  row.microseconds = rates.microseconds(plan);
}

/// A refusal of one placement is a row of the table, not an error.
static Row planRow(MLIRContext &context, config::Request request,
                   const PlannerOptions &options, StringRef place,
                   bool totalFirst, const Rates &rates, Plans &lastPlans) {
  Row row{place.str(), totalFirst, {}};
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (row.refusal.empty())
      row.refusal = diagnostic.str();
    return success();
  });
  request.place = place;
  request.objective = totalFirst ? "total" : "internode";
  FailureOr<PlannedRequest> planned =
      planRequest(context, request, planOptions(options));
  if (failed(planned))
    return row;
  row.refusal.clear();
  lastPlans = std::move(planned->plans);
  measure(*fb::GetPlan(lastPlans.front().data()), request.curr.parallel.tp,
          rates, row);
  return row;
}

static void writeRow(const Row &row, bool isBest, raw_ostream &os) {
  os << (isBest ? "* " : "  ")
     << llvm::format("%-5s %-10s", row.place.c_str(),
                     row.totalFirst ? "total" : "internode");
  if (!row.refusal.empty()) {
    // The remedy is another row.
    os << " no plan: " << StringRef(row.refusal).split(';').first << "\n";
    return;
  }
  os << llvm::format(
      " %12s %14s %12d %11d %12d %11.6f\n", formatBytes(row.moved).c_str(),
      formatBytes(row.internode).c_str(), static_cast<int>(row.splitGroups),
      static_cast<int>(row.nodesUsed), static_cast<int>(row.nodesFreed),
      row.microseconds / 1e6);
}

static void writeTable(const fb::Plan &plan, ArrayRef<Row> rows,
                       uint64_t groups, raw_ostream &os) {
  os << plan.model()->str() << ": " << plan::describe(*plan.prev()) << " -> "
     << plan::describe(*plan.curr()) << ", " << plan::worldOf(*plan.prev())
     << " -> " << plan::worldOf(*plan.curr()) << " devices, " << groups
     << " tensor-parallel groups, " << plan.nodes()->size() << " nodes\n"
     << "  place first             moves  between nodes split groups  nodes "
        "used  nodes freed   seconds\n";
  for (const Row &row : rows)
    writeRow(row,
             row.refusal.empty() &&
                 llvm::none_of(
                     rows, [&](const Row &other) { return other.beats(row); }),
             os);
  uint64_t bound = plan.summary()->bound_internode_bytes();
  for (const Row &row : rows)
    if (row.refusal.empty())
      bound = std::min(bound, row.bound);
  os << llvm::format("  %-16s %12s %14s\n", "bound",
                     formatBytes(plan.summary()->bound_moved_bytes()).c_str(),
                     formatBytes(bound).c_str())
     << "* no other row is as good in all of bytes, bytes between nodes, split "
        "groups and nodes used, and better in one\n";
}

int etc::writeFrontier(MLIRContext &context, const config::Request &request,
                       const PlannerOptions &options) {
  std::optional<Rates> rates = Rates::parse(options.rates);
  if (!rates)
    return failRates(*options.rates);
  Plans plans;
  SmallVector<Row> rows;
  for (StringRef place : {"any", "tp", "pack"})
    for (bool totalFirst : {true, false})
      rows.push_back(
          planRow(context, request, options, place, totalFirst, *rates, plans));
  if (plans.empty())
    return fail(rows.front().refusal, config::ExitCode::Unsatisfiable);
  const config::Parallelism &curr = request.curr.parallel;
  return writeOutputs(Output{options.output, [&](raw_ostream &os) {
                               writeTable(*fb::GetPlan(plans.front().data()),
                                          rows, curr.world() / curr.tp, os);
                             }});
}
