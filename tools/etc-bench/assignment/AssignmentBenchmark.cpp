// Times the assignment of whole reconfigurations: class graph, solution and
// expansion to single roles. A name such as "PP16TP8DP8/PP8TP8DP16/layers:64"
// says all there is to know about a case; compare.py reads it. Names that begin
// with "solve:" time the solution alone, by us or by LEMON where it is found,
// with the class graph given.

#include "etc/Optimize/Assignment/Expand.h"
#include "etc/Optimize/Assignment/Overlap.h"
#include "etc/Optimize/Assignment/Solver.h"

#ifdef ETC_HAS_LEMON
#include "LemonFlow.h"
#endif

#include <benchmark/benchmark.h>

#include <numeric>
#include <string>

using namespace etc;
using namespace etc::assignment;

namespace {

struct Parallel {
  int64_t pp, tp, dp;

  std::string name() const {
    return "PP" + std::to_string(pp) + "TP" + std::to_string(tp) + "DP" +
           std::to_string(dp);
  }
};

struct Case {
  int64_t layers;
  Parallel prev, curr;

  std::string name() const {
    return prev.name() + "/" + curr.name() +
           "/layers:" + std::to_string(layers);
  }
};

// The first ones have 64, 1024, 1024, 4096 and 16384 roles; the last two have
// the most classes there are for so many roles, in one connected component.
const Case kCases[] = {
    {64, {8, 8, 1}, {16, 4, 1}},
    {64, {16, 8, 8}, {8, 8, 16}},
    {128, {64, 16, 1}, {128, 8, 1}},
    {64, {16, 8, 32}, {8, 16, 32}},
    {64, {16, 8, 128}, {8, 16, 128}},
    {31 * 32, {31, 32, 1}, {32, 31, 1}},
    {127 * 128, {127, 128, 1}, {128, 127, 1}},
};

std::vector<Span> split(int64_t extent, int64_t parts) {
  std::vector<Span> intervals;
  for (int64_t i = 0; i < parts; ++i)
    intervals.push_back({i * extent / parts, (i + 1) * extent / parts});
  return intervals;
}

BoxGrid grid(int64_t layers, int64_t slices, const Parallel &parallel) {
  return {split(layers, parallel.pp), split(slices, parallel.tp)};
}

Problem classGraph(const Case &test) {
  const auto &[layers, prev, curr] = test;
  int64_t slices = std::lcm(prev.tp, curr.tp);
  return {std::vector<int64_t>(curr.pp * curr.tp, curr.dp),
          std::vector<int64_t>(prev.pp * prev.tp, prev.dp),
          overlapEdges(grid(layers, slices, curr), grid(layers, slices, prev))};
}

void assign(benchmark::State &state, const Case &test) {
  Weight kept;
  for (auto _ : state) {
    Problem problem = classGraph(test);
    Solution solution = solve(problem);
    benchmark::DoNotOptimize(expand(problem, solution.flow));
    kept = solution.total;
  }
  state.counters["kept"] = double(kept.device);
}

void solveAlone(benchmark::State &state, const Case &test) {
  Problem problem = classGraph(test);
  Weight kept;
  for (auto _ : state)
    kept = solve(problem).total;
  state.counters["kept"] = double(kept.device);
}

#ifdef ETC_HAS_LEMON
void solveByLemon(benchmark::State &state, const Case &test,
                  etc::bench::LemonMethod method) {
  Problem problem = classGraph(test);
  int64_t kept = 0;
  etc::bench::LemonFlow flow(problem.supply, problem.capacity);
  for (const Edge &edge : problem.edges)
    flow.addEdge(edge.row, edge.col, edge.weight.device);
  for (auto _ : state)
    kept = flow.solve(method);
  state.counters["kept"] = double(kept);
}
#endif

void registerCase(const Case &test) {
  using benchmark::RegisterBenchmark;
  auto unit = benchmark::kMillisecond;
  std::string name = test.name();
  RegisterBenchmark(name.c_str(), assign, test)->Unit(unit);
  RegisterBenchmark(("solve:ours/" + name).c_str(), solveAlone, test)
      ->Unit(unit);
#ifdef ETC_HAS_LEMON
  using etc::bench::LemonMethod;
  RegisterBenchmark(("solve:simplex/" + name).c_str(), solveByLemon, test,
                    LemonMethod::NetworkSimplex)
      ->Unit(unit);
  RegisterBenchmark(("solve:scaling/" + name).c_str(), solveByLemon, test,
                    LemonMethod::CostScaling)
      ->Unit(unit);
#endif
}

} // namespace

int main(int argc, char **argv) {
  for (const Case &test : kCases)
    registerCase(test);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv))
    return 2;
  benchmark::RunSpecifiedBenchmarks();
}
