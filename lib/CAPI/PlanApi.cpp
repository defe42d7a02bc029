//===- PlanApi.cpp - plan.h -----------------------------------------------===//

#include "PlanInProcess.h"
#include "etc-c/plan.h"
#include "etc/Export/PlanText.h"

#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <optional>

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

static const etc::plan::fb::Plan &planOf(const etc_plan *plan) {
  size_t size = 0;
  return *etc::plan::fb::GetPlan(etc_plan_bytes(plan, &size));
}

extern "C" {

uint32_t etc_planner_api_version(void) { return ETC_PLAN_API_VERSION; }

etc_error *etc_planner_plan(const char *request,
                            const etc_planner_options *options,
                            etc_plan **plan) {
  return guarded([&]() -> etc_error * {
    if (!request || !plan)
      return etc_error_new(ETC_ERROR_USAGE,
                           "etc_planner_plan: an argument is NULL");
    etc_planner_options given{};
    if (options)
      std::memcpy(&given, options,
                  std::min<size_t>(options->struct_size, sizeof given));
    etc::PlanOutcome outcome =
        etc::planInProcess(request, given.objective == ETC_TOTAL);
    if (outcome.bytes.empty())
      return etc_error_new(outcome.kind, outcome.error.c_str());
    return etc_plan_read(outcome.bytes.data(), outcome.bytes.size(), plan);
  });
}

const char *etc_text_data(const etc_text *text) { return text->value.c_str(); }

size_t etc_text_size(const etc_text *text) { return text->value.size(); }

void etc_text_free(etc_text *text) { delete text; }

etc_error *etc_planner_json(const etc_plan *plan, const uint32_t *devices,
                            size_t count, etc_text **text) {
  return guarded([&]() -> etc_error * {
    std::optional<std::vector<int64_t>> wanted;
    if (devices)
      wanted.emplace(devices, devices + count);
    std::string json;
    llvm::raw_string_ostream os(json);
    etc::writeJson(planOf(plan), wanted, os);
    *text = new etc_text{std::move(json)};
    return nullptr;
  });
}

etc_error *etc_planner_summary(const etc_plan *plan, etc_text **text) {
  return guarded([&]() -> etc_error * {
    std::string summary;
    llvm::raw_string_ostream os(summary);
    etc::writeSummary(planOf(plan), os);
    *text = new etc_text{std::move(summary)};
    return nullptr;
  });
}

} // extern "C"
