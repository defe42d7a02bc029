//===- WhichNodes.cpp - Which nodes are cheapest to give back -------------===//

#include "etc/Planner/WhichNodes.h"

#include "JsonText.h"
#include "NodeSearch.h"

#include "mlir/IR/Diagnostics.h"

#include <limits>
#include <numeric>

using namespace etc;
using namespace mlir;
using llvm::json::OStream;
namespace fb = etc::plan::fb;

/// So many choices are planned whole.
static constexpr size_t plannedChoices = 5;

static PlanCost costOf(const fb::Plan &plan,
                       const std::optional<Rates> &rates) {
  return {plan.summary()->moved_bytes(), plan.summary()->internode_bytes(),
          portMicroseconds(plan, rates)};
}

/// Plans a choice. The bounds of the plan that gives nothing back hold for it
/// as well, since a plan that avoids some nodes is a plan.
static void addChoice(MLIRContext &context, request::Request request,
                      const PlanOptions &options, const NodeSearch &search,
                      const NodeChoice &choice,
                      const std::optional<Rates> &rates, WhichNodes &result) {
  NodesAnswer &answer = result.best.emplace_back();
  answer.nodes = search.nodesOf(choice);
  answer.alike = search.alike(choice);
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (answer.refusal.empty())
      answer.refusal = diagnostic.str();
    return success();
  });
  for (int64_t device : search.devicesOf(choice))
    if (request.isUsable(device))
      request.draining.push_back(device);
  llvm::sort(request.draining);
  FailureOr<PlannedRequest> planned = planRequest(context, request, options);
  if (failed(planned))
    return;
  answer.refusal.clear();
  const fb::Plan &plan = *fb::GetPlan(planned->plans.front().data());
  answer.cost = costOf(plan, rates);
  result.boundInternode =
      std::min(result.boundInternode, plan.summary()->bound_internode_bytes());
}

/// By the bytes of the plans themselves, relays and all; what has no plan last.
static void sortAnswers(std::vector<NodesAnswer> &answers, bool totalFirst) {
  auto keyOf = [&](const NodesAnswer &answer) {
    if (!answer.refusal.empty())
      return std::tuple(true, uint64_t(0), uint64_t(0));
    const PlanCost &cost = answer.cost;
    return totalFirst ? std::tuple(false, cost.moved, cost.internode)
                      : std::tuple(false, cost.internode, cost.moved);
  };
  llvm::stable_sort(answers, [&](const NodesAnswer &a, const NodesAnswer &b) {
    return keyOf(a) < keyOf(b);
  });
}

/// The number of usable devices of each node that has some, ascending.
static std::vector<int64_t> countUsable(const request::Request &request) {
  std::vector<int64_t> usable;
  int64_t device = 0;
  for (int64_t size : request.nodes) {
    int64_t number = 0;
    for (int64_t end = device + size; device < end; ++device)
      number += request.isUsable(device);
    if (number)
      usable.push_back(number);
  }
  llvm::sort(usable);
  return usable;
}

/// Whether enough devices stay, whichever nodes leave.
static LogicalResult checkRoom(Location at, const request::Request &request,
                               int64_t count, StringRef asked) {
  const std::vector<int64_t> usable = countUsable(request);
  if (count > static_cast<int64_t>(usable.size()))
    return emitError(at)
           << asked << ": " << count
           << " nodes cannot be given back, since the cluster has "
           << usable.size()
           << (usable.size() == request.nodes.size()
                   ? ""
                   : " with devices that neither fail nor leave")
           << "; give back fewer";
  const request::Parallelism &curr = request.curr.parallel;
  const int64_t stay =
      std::accumulate(usable.begin() + count, usable.end(), int64_t{0});
  if (stay < curr.world())
    return emitError(at) << asked << ": " << curr.str() << " needs "
                         << curr.world() << " devices, but only " << stay
                         << " stay without " << count
                         << " of the nodes; give back fewer, or lower curr";
  return success();
}

FailureOr<WhichNodes> etc::findWhichNodes(MLIRContext &context,
                                          const request::Request &request,
                                          const PlanOptions &options,
                                          const std::optional<Rates> &rates,
                                          int64_t count, StringRef asked) {
  const Location nowhere = UnknownLoc::get(&context);
  if (failed(checkRoom(nowhere, request, count, asked)))
    return failure();
  // Placements are tried on its IR, which has to be of all lanes.
  PlanOptions whole = options;
  whole.lanesFrom = std::numeric_limits<int64_t>::max();
  FailureOr<PlannedRequest> none = planRequest(context, request, whole);
  if (failed(none))
    return failure();
  const fb::Plan &plan = *fb::GetPlan(none->plans.front().data());
  WhichNodes result;
  result.count = count;
  result.place = request.place;
  result.totalFirst = request.isTotalFirst();
  result.rates = ratesFor(plan, rates);
  result.none = costOf(plan, rates);
  result.boundMoved = plan.summary()->bound_moved_bytes();
  result.boundInternode = plan.summary()->bound_internode_bytes();

  PlacementTrials trials(*none->module->getOps<MigrationOp>().begin());
  NodeSearch search(trials, *symbolizePlace(request.place), result.totalFirst);
  Volumes bound;
  bound.moved = result.boundMoved;
  bound.internode = result.boundInternode;
  search.run(count, bound, plannedChoices);
  result.isComplete = search.isComplete();
  result.tried = search.getTried();
  result.classes = search.getClasses();
  for (auto &[choice, volumes] : search.best(plannedChoices))
    addChoice(context, request, options, search, choice, rates, result);
  if (result.best.empty()) {
    emitError(nowhere)
        << asked << ": no choice of " << count
        << " nodes leaves room for the tensor-parallel groups; use "
           "--place=any, or give back fewer";
    return failure();
  }
  sortAnswers(result.best, result.totalFirst);
  return result;
}

static void writeCost(OStream &json, const PlanCost &cost) {
  json.attribute("moved_bytes", static_cast<int64_t>(cost.moved));
  json.attribute("internode_bytes", static_cast<int64_t>(cost.internode));
  writeSeconds(json, cost.microseconds);
}

static void writeAnswer(OStream &json, const NodesAnswer &answer) {
  json.object([&] {
    json.attribute("nodes", llvm::json::Array(answer.nodes));
    json.attribute("alike", answer.alike);
    if (answer.refusal.empty())
      writeCost(json, answer.cost);
    else
      json.attribute("no_plan", answer.refusal);
  });
}

static void writeSearch(OStream &json, const WhichNodes &answer) {
  json.attributeObject("search", [&] {
    json.attribute("complete", answer.isComplete);
    json.attribute("tried", answer.tried);
    json.attributeArray("classes", [&] {
      for (const std::vector<int64_t> &list : answer.classes)
        json.value(llvm::json::Array(list));
    });
  });
}

void etc::writeWhichNodesJson(const WhichNodes &answer, raw_ostream &os) {
  OStream json(os, /*IndentSize=*/1);
  json.object([&] {
    json.attribute("format", "etc-which-nodes");
    json.attribute("version", 1);
    json.attribute("count", answer.count);
    json.attribute("place", answer.place);
    json.attribute("objective", objectiveName(answer.totalFirst));
    writeRates(json, answer.rates);
    writeSearch(json, answer);
    json.attributeObject("none", [&] { writeCost(json, answer.none); });
    writeBound(json, answer.boundMoved, answer.boundInternode);
    json.attributeArray("best", [&] {
      for (const NodesAnswer &choice : answer.best)
        writeAnswer(json, choice);
    });
  });
  os << "\n";
}
