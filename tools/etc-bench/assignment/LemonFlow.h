// The class graph as a flow problem of LEMON, on plain values: LEMON needs an
// older C++ than our headers.

#ifndef ETC_BENCH_LEMONFLOW_H
#define ETC_BENCH_LEMONFLOW_H

#include <cstdint>
#include <memory>
#include <vector>

namespace etc::bench {

enum class LemonMethod { NetworkSimplex, CostScaling };

/// A transportation problem with a sink of weight zero at every row, as LEMON
/// holds it.
class LemonFlow {
public:
  LemonFlow(const std::vector<int64_t> &supply,
            const std::vector<int64_t> &capacity);
  ~LemonFlow();
  void addEdge(int row, int column, int64_t weight);

  /// The total weight of the best flow.
  int64_t solve(LemonMethod method);

private:
  struct Graph;
  std::unique_ptr<Graph> graph;
};

} // namespace etc::bench

#endif // ETC_BENCH_LEMONFLOW_H
