//===- WhichNodes.cpp - --which-nodes -------------------------------------===//

#include "WhichNodes.h"

#include "Outputs.h"
#include "Planner.h"
#include "Rates.h"
#include "WhichNodesSearch.h"
#include "etc/Import/Import.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

using namespace etc;
using namespace mlir;
using llvm::json::OStream;
namespace fb = etc::plan::fb;

/// So many choices are planned whole and printed.
static constexpr size_t printedChoices = 5;

namespace {
/// What is known of a choice once it is planned.
struct Answer {
  std::vector<int64_t> nodes;
  double alike;
  std::string refusal;
  Plans plans;
};
} // namespace

static Answer planChoice(MLIRContext &context, config::Request request,
                         const PlannerOptions &options,
                         const NodeSearch &search, const NodeChoice &choice) {
  Answer answer{search.nodesOf(choice), search.alike(choice), {}, {}};
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (answer.refusal.empty())
      answer.refusal = diagnostic.str();
    return success();
  });
  for (int64_t device : search.devicesOf(choice))
    if (request.isUsable(device))
      request.leaving.push_back(device);
  llvm::sort(request.leaving);
  FailureOr<PlannedRequest> planned =
      planRequest(context, request, planOptions(options));
  if (succeeded(planned)) {
    answer.refusal.clear();
    answer.plans = std::move(planned->plans);
  }
  return answer;
}

static void writeVolumes(OStream &json, const fb::Plan &plan,
                         const Rates &rates) {
  json.attribute("moved_bytes",
                 static_cast<int64_t>(plan.summary()->moved_bytes()));
  json.attribute("internode_bytes",
                 static_cast<int64_t>(plan.summary()->internode_bytes()));
  json.attributeBegin("seconds");
  json.rawValue([&](raw_ostream &os) {
    os << llvm::format("%.6f", rates.microseconds(plan) / 1e6);
  });
  json.attributeEnd();
}

static void writeAnswer(OStream &json, const Answer &answer,
                        const Rates &rates) {
  json.object([&] {
    json.attribute("nodes", llvm::json::Array(answer.nodes));
    json.attribute("alike", answer.alike);
    if (answer.refusal.empty())
      writeVolumes(json, *fb::GetPlan(answer.plans.front().data()), rates);
    else
      json.attribute("no_plan", answer.refusal);
  });
}

static void writeSearch(OStream &json, const NodeSearch &search) {
  json.attributeObject("search", [&] {
    json.attribute("complete", search.isComplete());
    json.attribute("tried", search.getTried());
    json.attributeArray("classes", [&] {
      for (const std::vector<int64_t> &list : search.getClasses())
        json.value(llvm::json::Array(list));
    });
  });
}

/// The bounds of the plan that gives nothing back hold for every choice as
/// well, since a plan that avoids some nodes is a plan; but between nodes only
/// without relays, where it has none.
static Volumes boundOf(const fb::Plan &none, ArrayRef<Answer> answers) {
  auto internodeOf = [](const fb::Plan &plan) {
    return static_cast<int64_t>(plan.summary()->bound_internode_bytes());
  };
  Volumes bound;
  bound.moved = none.summary()->bound_moved_bytes();
  bound.internode = internodeOf(none);
  for (const Answer &answer : answers)
    if (answer.refusal.empty())
      bound.internode =
          std::min(bound.internode,
                   internodeOf(*fb::GetPlan(answer.plans.front().data())));
  return bound;
}

/// The plan that gives nothing back, and the bounds of all.
static void writeWithout(OStream &json, const fb::Plan &plan,
                         const Volumes &bound, const Rates &rates) {
  json.attributeObject("none", [&] { writeVolumes(json, plan, rates); });
  json.attributeObject("bound", [&] {
    json.attribute("moved_bytes", bound.moved);
    json.attribute("internode_bytes", bound.internode);
  });
}

/// By the bytes of the plans themselves, relays and all; what has no plan last.
static void sortAnswers(std::vector<Answer> &answers, bool totalFirst) {
  auto costOf = [&](const Answer &answer) {
    if (!answer.refusal.empty())
      return std::tuple(true, uint64_t(0), uint64_t(0));
    const fb::Summary &s = *fb::GetPlan(answer.plans.front().data())->summary();
    uint64_t moved = s.moved_bytes(), internode = s.internode_bytes();
    return totalFirst ? std::tuple(false, moved, internode)
                      : std::tuple(false, internode, moved);
  };
  llvm::stable_sort(answers, [&](const Answer &a, const Answer &b) {
    return costOf(a) < costOf(b);
  });
}

/// Whether enough devices stay, whichever nodes leave: the smallest ones.
static int checkRoom(const config::Request &request, int64_t count) {
  std::vector<int64_t> usable;
  int64_t device = 0, stay = 0;
  for (int64_t size : request.nodes) {
    int64_t number = 0;
    for (int64_t end = device + size; device < end; ++device)
      number += request.isUsable(device);
    if (number)
      usable.push_back(number);
  }
  llvm::sort(usable);
  for (size_t i = count; i < usable.size(); ++i)
    stay += usable[i];
  if (stay >= request.curr.parallel.world())
    return 0;
  return fail("--which-nodes: " + request.curr.parallel.str() + " needs " +
                  Twine(request.curr.parallel.world()) + " devices, but only " +
                  Twine(stay) + " stay without " + Twine(count) +
                  " of the nodes; give back fewer, or lower curr",
              config::ExitCode::Unsatisfiable);
}

int etc::writeWhichNodes(MLIRContext &context, const config::Request &request,
                         const PlannerOptions &options) {
  std::optional<Rates> rates = Rates::parse(options.rates);
  if (!rates)
    return failRates(*options.rates);
  int64_t count = *options.whichNodes;
  if (int status = checkRoom(request, count))
    return status;
  FailureOr<PlannedRequest> none =
      planRequest(context, request, planOptions(options));
  if (failed(none))
    return static_cast<int>(config::ExitCode::Unsatisfiable);
  PlacementTrials trials(*none->module->getOps<MigrationOp>().begin());
  bool totalFirst = request.isTotalFirst();
  NodeSearch search(trials, *symbolizePlace(request.place), totalFirst);
  const fb::Plan &nonePlan = *fb::GetPlan(none->plans.front().data());
  search.run(count, boundOf(nonePlan, {}), printedChoices);
  std::vector<Answer> answers;
  for (auto &[choice, volumes] : search.best(printedChoices))
    answers.push_back(planChoice(context, request, options, search, choice));
  if (answers.empty())
    return fail("--which-nodes: no choice of " + Twine(count) +
                    " nodes leaves room for the tensor-parallel groups; use "
                    "--place=any, or give back fewer",
                config::ExitCode::Unsatisfiable);
  sortAnswers(answers, totalFirst);
  return writeOutputs(Output{
      options.output, [&](raw_ostream &os) {
        OStream json(os, /*IndentSize=*/1);
        json.object([&] {
          json.attribute("format", "etc-which-nodes");
          json.attribute("version", 1);
          json.attribute("count", count);
          json.attribute("place", request.place);
          json.attribute("objective", totalFirst ? "total" : "internode");
          json.attributeObject("rates_gb_per_s", [&] {
            json.attribute("between_nodes", rates->betweenNodes);
            json.attribute("inside_node", rates->insideNode);
          });
          writeSearch(json, search);
          writeWithout(json, nonePlan, boundOf(nonePlan, answers), *rates);
          json.attributeArray("best", [&] {
            for (const Answer &answer : answers)
              writeAnswer(json, answer, *rates);
          });
        });
        os << "\n";
      }});
}
