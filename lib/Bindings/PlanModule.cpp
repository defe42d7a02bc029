//===- PlanModule.cpp - The planner for Python ----------------------------===//

#include "Support.h"

#include "etc-c/plan.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <utility>
#include <vector>

using namespace etc::python;

static nb::bytes bytesOf(etc_plan *plan) {
  PlanPointer owner(plan);
  size_t size = 0;
  const void *bytes = etc_plan_bytes(plan, &size);
  return nb::bytes(static_cast<const char *>(bytes), size);
}

static nb::bytes makePlan(const std::string &request) {
  etc_plan *plan = nullptr;
  etc_error *error = nullptr;
  {
    nb::gil_scoped_release free;
    error = etc_planner_plan(request.c_str(), nullptr, &plan);
  }
  check(error);
  return bytesOf(plan);
}

static nb::bytes makeChain(const std::vector<std::string> &requests,
                           const std::optional<std::string> &journal) {
  std::vector<const char *> texts;
  for (const std::string &request : requests)
    texts.push_back(request.c_str());
  etc_plan *plan = nullptr;
  etc_error *error = nullptr;
  {
    nb::gil_scoped_release free;
    error =
        etc_planner_chain(texts.data(), texts.size(),
                          journal ? journal->c_str() : nullptr, nullptr, &plan);
  }
  check(error);
  return bytesOf(plan);
}

static PlanPointer readPlan(nb::bytes bytes) {
  etc_plan *plan = nullptr;
  check(etc_plan_read(bytes.c_str(), bytes.size(), &plan));
  return PlanPointer(plan);
}

static std::pair<nb::bytes, nb::bytes>
makeTwoStage(const std::string &request) {
  etc_plan *assigned = nullptr, *defragmented = nullptr;
  etc_error *error = nullptr;
  {
    nb::gil_scoped_release free;
    error = etc_planner_two_stage(request.c_str(), nullptr, &assigned,
                                  &defragmented);
  }
  check(error);
  return {bytesOf(assigned), bytesOf(defragmented)};
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

/// GB/s between nodes and inside one, where they are given.
using GivenRates = std::optional<std::pair<double, double>>;

/// Options of the C API, which point at the rates.
class Options {
public:
  explicit Options(const GivenRates &given) {
    options.struct_size = sizeof options;
    if (!given)
      return;
    rates = {given->first, given->second};
    options.rates = &rates;
  }
  Options(const Options &) = delete;

  const etc_planner_options *get() const { return &options; }

private:
  etc_rates rates{};
  etc_planner_options options{};
};

/// A verb that takes a request and answers in text.
using RequestVerb = etc_error *(*)(const char *, const etc_planner_options *,
                                   etc_text **);

template <RequestVerb verb>
static std::string ask(const std::string &request, const GivenRates &rates) {
  const Options options(rates);
  etc_text *text = nullptr;
  etc_error *error = nullptr;
  {
    nb::gil_scoped_release free;
    error = verb(request.c_str(), options.get(), &text);
  }
  return takeText(error, text);
}

static std::string findWhichNodes(const std::string &request, uint32_t count,
                                  const GivenRates &rates) {
  const Options options(rates);
  etc_text *text = nullptr;
  etc_error *error = nullptr;
  {
    nb::gil_scoped_release free;
    error =
        etc_planner_which_nodes(request.c_str(), count, options.get(), &text);
  }
  return takeText(error, text);
}

static std::string writeRanks(nb::bytes plan,
                              const std::vector<std::string> &hosts) {
  std::vector<const char *> names;
  for (const std::string &host : hosts)
    names.push_back(host.c_str());
  etc_text *text = nullptr;
  etc_error *error = etc_planner_ranks(readPlan(plan).get(), names.data(),
                                       names.size(), &text);
  return takeText(error, text);
}

static std::string writeReport(nb::bytes plan, const GivenRates &rates) {
  const Options options(rates);
  etc_text *text = nullptr;
  etc_error *error =
      etc_planner_report(readPlan(plan).get(), options.get(), &text);
  return takeText(error, text);
}

NB_MODULE(_plan, m) {
  m.doc() = "The planner of etc-c/plan.h.";
  m.def("make", &makePlan);
  m.def("chain", &makeChain, nb::arg("requests"), nb::arg("journal").none());
  m.def("two_stage", &makeTwoStage);
  m.def("json", &writeJson, nb::arg("plan"), nb::arg("devices").none());
  m.def("summary", &writeSummary);
  m.def("explain", &ask<etc_planner_explain>, nb::arg("request"),
        nb::arg("rates").none());
  m.def("price", &ask<etc_planner_price>, nb::arg("request"),
        nb::arg("rates").none());
  m.def("frontier", &ask<etc_planner_frontier>, nb::arg("request"),
        nb::arg("rates").none());
  m.def("which_nodes", &findWhichNodes, nb::arg("request"), nb::arg("count"),
        nb::arg("rates").none());
  m.def("ranks", &writeRanks, nb::arg("plan"), nb::arg("hosts"));
  m.def("report", &writeReport, nb::arg("plan"), nb::arg("rates").none());
}
