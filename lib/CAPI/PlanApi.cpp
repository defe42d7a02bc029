//===- PlanApi.cpp - plan.h -----------------------------------------------===//

#include "InProcess.h"
#include "core/plan/PlanFile.h"
#include "core/proof/PlanCertificates.h"
#include "etc-c/plan.h"
#include "etc/Export/PlanText.h"

#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <optional>
#include <stdexcept>

struct etc_text {
  std::string value;
};

/// No exception leaves the library.
template <typename Body> static etc_error *guarded(Body body) {
  try {
    return body();
  } catch (const std::exception &error) {
    return etc_error_new(ETC_ERROR_USAGE, error.what());
  }
}

/// The plan, expanded, for as long as the handle exists. The runtime's library
/// has checked it and shows the bytes of its file.
static etc::plan::PlanFile fileOf(const etc_plan *plan) {
  size_t size = 0;
  const void *bytes = etc_plan_bytes(plan, &size);
  etc::plan::Result<etc::plan::PlanFile> file =
      etc::plan::PlanFile::read({static_cast<const uint8_t *>(bytes), size});
  if (!file)
    throw std::runtime_error(file.status().message());
  return std::move(*file);
}

/// What the caller's version of the struct has.
static etc::AskOptions readOptions(const etc_planner_options *options) {
  etc_planner_options given{};
  if (options)
    std::memcpy(&given, options,
                std::min<size_t>(options->struct_size, sizeof given));
  etc::AskOptions result;
  if (given.rates)
    result.rates = {given.rates->between_nodes, given.rates->inside_node};
  return result;
}

static etc_error *refuseNull(const char *function) {
  return etc_error_new(
      ETC_ERROR_USAGE,
      (std::string(function) + ": an argument is NULL").c_str());
}

/// What shows a plan needs all of it.
static etc_error *refuseSlice(const char *function,
                              const etc::plan::fb::Plan &plan) {
  return plan.slice()
             ? etc_error_new(ETC_ERROR_USAGE,
                             (std::string(function) +
                              ": the plan is the slice of one participant; "
                              "give the whole plan")
                                 .c_str())
             : nullptr;
}

/// What shows a plan shows bounds, which are proved.
static etc_error *checkShown(const char *function,
                             const etc::plan::fb::Plan &plan) {
  if (etc_error *error = refuseSlice(function, plan))
    return error;
  const etc::plan::Status status =
      etc::verifyCertificates(etc::plan::PlanIndex(plan));
  return status.ok()
             ? nullptr
             : etc_error_new(ETC_ERROR_MALFORMED, status.message().c_str());
}

static etc_error *finish(etc::Answer answer, etc_text **text) {
  if (!answer.error.empty())
    return etc_error_new(answer.kind, answer.error.c_str());
  *text = new etc_text{std::move(answer.text)};
  return nullptr;
}

/// A verb that takes a request, and further arguments.
template <typename Verb, typename... Arguments>
static etc_error *askRequest(const char *function, Verb verb,
                             const char *request,
                             const etc_planner_options *options,
                             etc_text **text, Arguments... arguments) {
  return guarded([&] {
    if (!request || !text)
      return refuseNull(function);
    return finish(verb(request, readOptions(options), arguments...), text);
  });
}

extern "C" {

uint32_t etc_planner_api_version(void) { return ETC_PLAN_API_VERSION; }

etc_error *etc_planner_plan(const char *request,
                            const etc_planner_options *options,
                            etc_plan **plan) {
  return guarded([&]() -> etc_error * {
    if (!request || !plan)
      return refuseNull("etc_planner_plan");
    etc::Answer answer = etc::askPlan(request, readOptions(options));
    if (!answer.error.empty())
      return etc_error_new(answer.kind, answer.error.c_str());
    return etc_plan_read(answer.text.data(), answer.text.size(), plan);
  });
}

etc_error *etc_planner_two_stage(const char *request,
                                 const etc_planner_options *options,
                                 etc_plan **assigned, etc_plan **defragmented) {
  return guarded([&]() -> etc_error * {
    if (!request || !assigned || !defragmented)
      return refuseNull("etc_planner_two_stage");
    std::string second;
    etc::Answer first = etc::askTwoStage(request, readOptions(options), second);
    if (!first.error.empty())
      return etc_error_new(first.kind, first.error.c_str());
    etc_plan *before = nullptr;
    if (etc_error *error =
            etc_plan_read(first.text.data(), first.text.size(), &before))
      return error;
    etc_error *error =
        etc_plan_read(second.data(), second.size(), defragmented);
    if (error)
      etc_plan_free(before);
    else
      *assigned = before;
    return error;
  });
}

etc_error *etc_planner_chain(const char *const *requests, size_t count,
                             const char *journal,
                             const etc_planner_options *options,
                             etc_plan **plan) {
  return guarded([&]() -> etc_error * {
    if (!requests || !plan ||
        std::find(requests, requests + count, nullptr) != requests + count)
      return refuseNull("etc_planner_chain");
    if (count == 0)
      return etc_error_new(ETC_ERROR_USAGE,
                           "etc_planner_chain: expected one request or more");
    std::optional<std::string> directory;
    if (journal)
      directory = journal;
    etc::Answer answer = etc::askChain({requests, requests + count},
                                       readOptions(options), directory);
    if (!answer.error.empty())
      return etc_error_new(answer.kind, answer.error.c_str());
    return etc_plan_read(answer.text.data(), answer.text.size(), plan);
  });
}

const char *etc_text_data(const etc_text *text) { return text->value.c_str(); }

size_t etc_text_size(const etc_text *text) { return text->value.size(); }

void etc_text_free(etc_text *text) { delete text; }

etc_error *etc_planner_explain(const char *request,
                               const etc_planner_options *options,
                               etc_text **text) {
  return askRequest("etc_planner_explain", etc::askExplanation, request,
                    options, text);
}

etc_error *etc_planner_price(const char *request,
                             const etc_planner_options *options,
                             etc_text **text) {
  return askRequest("etc_planner_price", etc::askPrice, request, options, text);
}

etc_error *etc_planner_frontier(const char *request,
                                const etc_planner_options *options,
                                etc_text **text) {
  return askRequest("etc_planner_frontier", etc::askFrontier, request, options,
                    text);
}

etc_error *etc_planner_which_nodes(const char *request, uint32_t count,
                                   const etc_planner_options *options,
                                   etc_text **text) {
  return askRequest("etc_planner_which_nodes", etc::askWhichNodes, request,
                    options, text, count);
}

etc_error *etc_planner_ranks(const etc_plan *plan, const char *const *hosts,
                             size_t count, etc_text **text) {
  return guarded([&]() -> etc_error * {
    if (!plan || !text || (count && !hosts))
      return refuseNull("etc_planner_ranks");
    const etc::plan::PlanFile file = fileOf(plan);
    if (etc_error *error = refuseSlice("etc_planner_ranks", file.plan()))
      return error;
    return finish(etc::askRanks(file.plan(),
                                std::vector<std::string>(hosts, hosts + count)),
                  text);
  });
}

etc_error *etc_planner_report(const etc_plan *plan,
                              const etc_planner_options *options,
                              etc_text **text) {
  return guarded([&]() -> etc_error * {
    if (!plan || !text)
      return refuseNull("etc_planner_report");
    const etc::plan::PlanFile file = fileOf(plan);
    if (etc_error *error = checkShown("etc_planner_report", file.plan()))
      return error;
    return finish(etc::askReport(file.plan(), readOptions(options)), text);
  });
}

etc_error *etc_planner_json(const etc_plan *plan, const uint32_t *devices,
                            size_t count, etc_text **text) {
  return guarded([&]() -> etc_error * {
    const etc::plan::PlanFile file = fileOf(plan);
    if (etc_error *error = checkShown("etc_planner_json", file.plan()))
      return error;
    std::optional<std::vector<int64_t>> wanted;
    if (devices)
      wanted.emplace(devices, devices + count);
    std::string json;
    llvm::raw_string_ostream os(json);
    etc::writeJson(file.plan(), wanted, os);
    *text = new etc_text{std::move(json)};
    return nullptr;
  });
}

etc_error *etc_planner_summary(const etc_plan *plan, etc_text **text) {
  return guarded([&]() -> etc_error * {
    const etc::plan::PlanFile file = fileOf(plan);
    if (etc_error *error = checkShown("etc_planner_summary", file.plan()))
      return error;
    std::string summary;
    llvm::raw_string_ostream os(summary);
    etc::writeSummary(file.plan(), os);
    *text = new etc_text{std::move(summary)};
    return nullptr;
  });
}

} // extern "C"
