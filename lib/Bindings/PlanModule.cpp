//===- PlanModule.cpp - The planner for Python ----------------------------===//

#include "Support.h"

#include "etc-c/plan.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <vector>

using namespace etc::python;

static nb::bytes makePlan(const std::string &request) {
  etc_plan *plan = nullptr;
  etc_error *error = nullptr;
  {
    nb::gil_scoped_release free;
    error = etc_planner_plan(request.c_str(), nullptr, &plan);
  }
  check(error);
  PlanPointer owner(plan);
  size_t size = 0;
  const void *bytes = etc_plan_bytes(plan, &size);
  return nb::bytes(static_cast<const char *>(bytes), size);
}

static PlanPointer readPlan(nb::bytes bytes) {
  etc_plan *plan = nullptr;
  check(etc_plan_read(bytes.c_str(), bytes.size(), &plan));
  return PlanPointer(plan);
}

static std::string takeText(etc_error *error, etc_text *text) {
  check(error);
  std::string value(etc_text_data(text), etc_text_size(text));
  etc_text_free(text);
  return value;
}

static std::string
writeJson(nb::bytes plan, const std::optional<std::vector<uint32_t>> &devices) {
  etc_text *text = nullptr;
  etc_error *error = etc_planner_json(readPlan(plan).get(),
                                      devices ? devices->data() : nullptr,
                                      devices ? devices->size() : 0, &text);
  return takeText(error, text);
}

static std::string writeSummary(nb::bytes plan) {
  etc_text *text = nullptr;
  etc_error *error = etc_planner_summary(readPlan(plan).get(), &text);
  return takeText(error, text);
}

NB_MODULE(_plan, m) {
  m.doc() = "The planner of etc-c/plan.h.";
  m.def("make", &makePlan);
  m.def("json", &writeJson, nb::arg("plan"), nb::arg("devices").none());
  m.def("summary", &writeSummary);
}
