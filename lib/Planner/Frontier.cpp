//===- Frontier.cpp - What every placement and objective costs ------------===//

#include "etc/Planner/Frontier.h"

#include "core/plan/Configuration.h"
#include "core/plan/PlanIndex.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallSet.h"

#include <array>

using namespace etc;
using namespace mlir;
namespace fb = etc::plan::fb;

/// Whether a row is nowhere worse than another, and somewhere better.
static bool beats(const FrontierRow &row, const FrontierRow &other) {
  auto key = [](const FrontierRow &row) {
    return std::array{row.microseconds, row.moved, row.internode,
                      row.splitGroups, row.nodesUsed};
  };
  return row.refusal.empty() && key(row) != key(other) &&
         llvm::all_of(llvm::zip(key(row), key(other)), [](auto pair) {
           return std::get<0>(pair) <= std::get<1>(pair);
         });
}

static llvm::SmallSet<uint32_t, 16> nodesOf(const plan::PlanIndex &index,
                                            const auto &devices) {
  llvm::SmallSet<uint32_t, 16> nodes;
  for (uint32_t device : devices)
    nodes.insert(index.nodeOf(device));
  return nodes;
}

/// TP is the fastest dimension of a rank, so a group is a run of ranks.
static void measure(const fb::Plan &plan, uint32_t tp,
                    const std::optional<Rates> &rates, FrontierRow &row) {
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
  row.microseconds = portMicroseconds(plan, rates);
}

/// What all plans have in common, and the bounds.
static void addPlan(const fb::Plan &plan, Frontier &frontier) {
  uint64_t internode = plan.summary()->bound_internode_bytes();
  bool isFirst = frontier.nodes == 0;
  frontier.boundInternode =
      isFirst ? internode : std::min(frontier.boundInternode, internode);
  frontier.model = plan.model()->str();
  frontier.prev = plan::describe(*plan.prev());
  frontier.curr = plan::describe(*plan.curr());
  frontier.prevWorld = plan::worldOf(*plan.prev());
  frontier.currWorld = plan::worldOf(*plan.curr());
  frontier.nodes = plan.nodes()->size();
  frontier.boundMoved = plan.summary()->bound_moved_bytes();
}

/// A refusal of one placement is a row of the table, not an error.
static void addRow(MLIRContext &context, request::Request request,
                   const PlanOptions &options, Place place, StringRef objective,
                   const std::optional<Rates> &rates, Frontier &frontier) {
  FrontierRow &row = frontier.rows.emplace_back();
  row.place = place;
  row.objective = objective.str();
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (row.refusal.empty())
      row.refusal = diagnostic.str();
    return success();
  });
  request.place = stringifyPlace(place);
  request.objective = row.objective;
  FailureOr<PlannedRequest> planned = planRequest(context, request, options);
  if (failed(planned))
    return;
  row.refusal.clear();
  const fb::Plan &plan = *fb::GetPlan(planned->plans.front().data());
  measure(plan, request.curr.parallel.tp, rates, row);
  frontier.rates = ratesFor(plan, rates);
  addPlan(plan, frontier);
}

FailureOr<Frontier> etc::findFrontier(MLIRContext &context,
                                      const request::Request &request,
                                      const PlanOptions &options,
                                      const std::optional<Rates> &rates) {
  Frontier frontier;
  frontier.groups = request.curr.parallel.world() / request.curr.parallel.tp;
  for (Place place : {Place::Any, Place::Tp, Place::Pack})
    for (StringRef objective : {"time", "total", "internode"})
      addRow(context, request, options, place, objective, rates, frontier);
  std::vector<FrontierRow> &rows = frontier.rows;
  if (llvm::none_of(rows, [](auto &row) { return row.refusal.empty(); })) {
    emitError(UnknownLoc::get(&context)) << rows.front().refusal;
    return failure();
  }
  for (FrontierRow &row : rows)
    row.isBest = row.refusal.empty() &&
                 llvm::none_of(rows, [&](const FrontierRow &other) {
                   return beats(other, row);
                 });
  return frontier;
}
