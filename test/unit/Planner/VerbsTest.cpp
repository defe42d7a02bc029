// Each verb of the planner gives the same through lib/Planner and through the C
// API. test/python/test_verbs.py compares Python, which stands on C, with the
// command line.

#include "core/plan/Condense.h"
#include "core/plan/Fingerprint.h"
#include "core/plan/PlanFile.h"
#include "core/plan/Slice.h"
#include "etc-c/plan.h"
#include "etc/Export/PlanText.h"
#include "etc/Export/Ranks.h"
#include "etc/Planner/Chain.h"
#include "etc/Planner/Explain.h"
#include "etc/Planner/Frontier.h"
#include "etc/Planner/Price.h"
#include "etc/Planner/Report.h"
#include "etc/Planner/WhichNodes.h"

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <string>

using namespace etc;
using namespace mlir;

namespace {

constexpr int requests = 20;
constexpr Rates rates = {25, 200};

/// Of a verb; nothing where the request can't be met.
using Result = std::optional<std::string>;

//===----------------------------------------------------------------------===//
// Requests
//===----------------------------------------------------------------------===//

class Drawing {
public:
  Drawing() {
    const char *given = std::getenv("ETC_SEED");
    const auto seed = given ? uint32_t(std::strtoul(given, nullptr, 10))
                            : std::random_device()();
    std::printf("ETC_SEED=%u\n", seed);
    rng.seed(seed);
  }

  /// JSON; configurations have 16 devices at most, as the cluster has.
  std::string draw(const std::string &more = "") {
    return R"({"model": {"family": "gpt", "layers": 12, "hidden": 64, )"
           R"("heads": 4, "vocab": 512, "seq": 32}, "prev": ")" +
           side() + R"(", "curr": ")" + side() + R"(", "cluster": "4x4")" +
           (more.empty() ? rest() : more) + "}";
  }

private:
  int64_t oneOf(std::initializer_list<int64_t> list) {
    return list.begin()[rng() % list.size()];
  }
  std::string side() {
    const int64_t pp = oneOf({1, 2, 3, 4}), tp = oneOf({1, 2, 4});
    const int64_t dp = 1 + int64_t(rng()) % (16 / (pp * tp));
    return "PP" + std::to_string(pp) + "TP" + std::to_string(tp) + "DP" +
           std::to_string(dp) + (rng() % 4 ? "" : "+zero1");
  }
  std::string rest() {
    const char *places[] = {"any", "tp", "pack"};
    const char *objectives[] = {"time", "internode", "total"};
    const char *lost[] = {"", R"(, "draining": [5])", R"(, "failed": [15])"};
    return std::string(R"(, "place": ")") + places[rng() % 3] +
           R"(", "objective": ")" + objectives[rng() % 3] + '"' +
           lost[rng() % 3];
  }

  std::mt19937 rng;
};

//===----------------------------------------------------------------------===//
// In C++
//===----------------------------------------------------------------------===//

class InCpp {
public:
  InCpp() : handler(&context, [](Diagnostic &) { return success(); }) {}

  request::Request read(const std::string &text) {
    return llvm::cantFail(request::parseRequest(text, "request"));
  }
  /// Nothing where there is no plan.
  FailureOr<PlannedRequest> plan(const std::string &text,
                                 bool twoStage = false) {
    const request::Request asked = read(text);
    if (llvm::Error error = request::checkRequest(asked)) {
      llvm::consumeError(std::move(error));
      return failure();
    }
    PlanOptions how;
    how.twoStage = twoStage;
    return planRequest(context, asked, how);
  }
  /// What `write` says of an answer, if there is one.
  template <typename Answer, typename Write>
  static Result text(FailureOr<Answer> answer, Write write) {
    if (failed(answer))
      return std::nullopt;
    std::string text;
    llvm::raw_string_ostream os(text);
    write(*answer, os);
    return text;
  }
  Result frontier(const std::string &request) {
    return text(findFrontier(context, read(request), {}, rates),
                writeFrontierJson);
  }
  Result whichNodes(const std::string &request) {
    return text(findWhichNodes(context, read(request), {}, rates, 1, "count"),
                writeWhichNodesJson);
  }
  Result chain(const std::vector<std::string> &texts) {
    Chain chain;
    for (const std::string &it : texts)
      chain.push_back(read(it));
    llvm::cantFail(linkChain(chain));
    return text(planChain(context, chain, {}), [](auto &planned, auto &os) {
      os << fileOf(planned.plans.front());
    });
  }
  static std::string fileOf(ArrayRef<uint8_t> plan) {
    const std::vector<uint8_t> bytes = plan::condensePlan(plan);
    return {bytes.begin(), bytes.end()};
  }

private:
  MLIRContext context{MLIRContext::Threading::DISABLED};
  ScopedDiagnosticHandler handler;
};

//===----------------------------------------------------------------------===//
// In C
//===----------------------------------------------------------------------===//

struct PlanDeleter {
  void operator()(etc_plan *plan) const { etc_plan_free(plan); }
};
using PlanPointer = std::unique_ptr<etc_plan, PlanDeleter>;

const etc_rates cRates = {rates.betweenNodes, rates.insideNode};
const etc_planner_options cOptions = {sizeof cOptions, &cRates};

bool isRefused(etc_error *error) {
  if (!error)
    return false;
  EXPECT_EQ(etc_error_kind_of(error), ETC_ERROR_UNSATISFIABLE)
      << etc_error_message(error);
  etc_error_free(error);
  return true;
}

std::string fileOf(const etc_plan *plan) {
  size_t size = 0;
  const void *bytes = etc_plan_bytes(plan, &size);
  return {static_cast<const char *>(bytes), size};
}

/// What a function of C gives, which takes a place for its text last.
template <typename Verb, typename... Arguments>
Result inC(Verb verb, Arguments... arguments) {
  etc_text *text = nullptr;
  if (isRefused(verb(arguments..., &text)))
    return std::nullopt;
  std::string value(etc_text_data(text), etc_text_size(text));
  etc_text_free(text);
  return value;
}

//===----------------------------------------------------------------------===//
// Both
//===----------------------------------------------------------------------===//

/// What is asked of a plan.
void comparePlan(const plan::fb::Plan &plan, const etc_plan *handle) {
  auto text = [](auto write) {
    std::string text;
    llvm::raw_string_ostream os(text);
    write(os);
    return text;
  };
  const std::string summary =
      text([&](raw_ostream &os) { writeSummary(plan, os); });
  EXPECT_EQ(inC(etc_planner_summary, handle), summary);
  EXPECT_EQ(inC(etc_planner_json, handle, nullptr, size_t(0)),
            text([&](raw_ostream &os) { writeJson(plan, std::nullopt, os); }));
  const std::vector<const char *> hosts = {"a", "b", "c", "d"};
  const std::vector<std::string> names(hosts.begin(), hosts.end());
  EXPECT_EQ(inC(etc_planner_ranks, handle, hosts.data(), hosts.size()),
            text([&](raw_ostream &os) { writeRanksJson(plan, names, os); }));
  EXPECT_EQ(inC(etc_planner_report, handle, &cOptions),
            reportPage(plan, rates, summary));
  const plan::PlanIndex index(plan);
  const plan::FingerprintTree tree(index);
  const uint32_t rank = index.rankCount() / 2;
  etc_plan *slice = nullptr;
  ASSERT_EQ(etc_plan_slice(handle, rank, &slice), nullptr);
  const std::vector<uint8_t> bytes = plan::slicePlan(index, tree, rank);
  EXPECT_EQ(fileOf(PlanPointer(slice).get()),
            std::string(bytes.begin(), bytes.end()));
}

/// All verbs of one request; whether there is a plan.
bool compareRequest(InCpp &cpp, const std::string &request) {
  FailureOr<PlannedRequest> planned = cpp.plan(request);
  etc_plan *made = nullptr;
  const bool isRefusedInC =
      isRefused(etc_planner_plan(request.c_str(), nullptr, &made));
  const PlanPointer plan(made);
  EXPECT_EQ(failed(planned), isRefusedInC);
  const char *text = request.c_str();
  EXPECT_EQ(inC(etc_planner_frontier, text, &cOptions), cpp.frontier(request));
  EXPECT_EQ(inC(etc_planner_which_nodes, text, 1u, &cOptions),
            cpp.whichNodes(request));
  if (failed(planned) || isRefusedInC)
    return false;
  const request::Request asked = cpp.read(request);
  const std::vector<uint8_t> &bytes = planned->plans.front();
  EXPECT_EQ(fileOf(plan.get()), InCpp::fileOf(bytes));
  EXPECT_EQ(inC(etc_planner_explain, text, nullptr),
            cpp.text(cpp.plan(request), [&](auto &it, auto &os) {
              writeExplanation(asked, it, priceOf(asked, it), os);
            }));
  EXPECT_EQ(inC(etc_planner_price, text, nullptr),
            cpp.text(cpp.plan(request), [&](auto &it, auto &os) {
              writePriceJson(priceOf(asked, it), os);
            }));
  comparePlan(*plan::fb::GetPlan(bytes.data()), plan.get());
  return true;
}

TEST(PlannerVerbs, AreTheSameInCppAndC) {
  Drawing drawing;
  int planned = 0;
  for (int i = 0; i < requests; ++i) {
    InCpp cpp;
    const std::string request = drawing.draw();
    SCOPED_TRACE(request);
    planned += compareRequest(cpp, request);
  }
  EXPECT_GT(planned, requests / 4);
}

TEST(PlannerVerbs, TwoStagesAreTheSameInCppAndC) {
  Drawing drawing;
  int made = 0;
  for (int i = 0; i < requests; ++i) {
    InCpp cpp;
    const std::string request = drawing.draw(R"(, "policy": "paper")");
    SCOPED_TRACE(request);
    FailureOr<PlannedRequest> planned = cpp.plan(request, /*twoStage=*/true);
    etc_plan *first = nullptr, *second = nullptr;
    const bool isRefusedInC = isRefused(
        etc_planner_two_stage(request.c_str(), nullptr, &first, &second));
    const PlanPointer one(first), other(second);
    ASSERT_EQ(failed(planned), isRefusedInC);
    if (isRefusedInC)
      continue;
    ++made;
    EXPECT_EQ(fileOf(first), InCpp::fileOf(planned->plans.front()));
    EXPECT_EQ(fileOf(second), InCpp::fileOf(planned->plans.back()));
  }
  EXPECT_GT(made, requests / 4);
}

TEST(PlannerVerbs, AChainIsTheSameInCppAndC) {
  const std::string head =
      R"({"model": {"preset": "gpt2", "layers": 4}, "cluster": "2x4", )";
  const std::vector<std::string> chain = {
      head + R"("prev": "PP2TP2", "curr": "PP4"})",
      head + R"("curr": "TP2DP4+zero1"})",
      head + R"("curr": "PP2DP2", "draining": [0]})"};
  std::vector<const char *> texts(chain.size());
  llvm::transform(chain, texts.begin(),
                  [](const std::string &it) { return it.c_str(); });
  etc_plan *made = nullptr;
  ASSERT_EQ(
      etc_planner_chain(texts.data(), texts.size(), nullptr, nullptr, &made),
      nullptr);
  EXPECT_EQ(fileOf(PlanPointer(made).get()), InCpp().chain(chain));
}

} // namespace
