// Prints random problems and the totals that the solver finds, one JSON object
// a line, for scipy_oracle.py.
//   etc-assignment-problems COUNT FIRST_SEED

#include "RandomProblems.h"
#include "etc/Optimize/Assignment/Solver.h"

#include <cstdlib>
#include <iostream>

using namespace etc::assignment;

namespace {

void printList(const char *name, const std::vector<int64_t> &list) {
  std::cout << "\"" << name << "\": [";
  for (size_t i = 0; i < list.size(); ++i)
    std::cout << (i ? ", " : "") << list[i];
  std::cout << "], ";
}

void print(uint64_t seed, const Problem &problem, Weight total) {
  std::cout << "{\"seed\": " << seed << ", ";
  printList("supply", problem.supply);
  printList("capacity", problem.capacity);
  std::cout << "\"edges\": [";
  for (size_t e = 0; e < problem.edges.size(); ++e) {
    auto [row, col, weight] = problem.edges[e];
    std::cout << (e ? ", [" : "[") << row << ", " << col << ", " << weight.node
              << ", " << weight.device << "]";
  }
  std::cout << "], \"total\": [" << total.node << ", " << total.device
            << "]}\n";
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 3) {
    std::cerr << "usage: " << argv[0] << " COUNT FIRST_SEED\n";
    return 2;
  }
  uint64_t count = std::strtoull(argv[1], nullptr, 10);
  uint64_t first = std::strtoull(argv[2], nullptr, 10);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    Problem problem = testing::randomProblem(seed);
    print(seed, problem, solve(problem).total);
  }
}
