// Prints instances and what the library says of them, one JSON object a line,
// for lp_oracle.py: random ones, or those of files.
//   etc-routing-cases COUNT FIRST_SEED [uneven]
//   etc-routing-cases FILE...

#include "Cases.h"
#include "etc/Optimize/Routing/Solver.h"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>

using namespace etc::routing;

namespace {

void printList(const std::vector<int32_t> &list) {
  std::cout << "[";
  for (size_t i = 0; i < list.size(); ++i)
    std::cout << (i ? ", " : "") << list[i];
  std::cout << "]";
}

void printProblem(const Problem &problem) {
  std::cout << "\"nics\": [";
  for (size_t i = 0; i < problem.nics.size(); ++i)
    std::cout << (i ? ", " : "") << problem.nics[i].rate;
  std::cout << "], \"devices\": [";
  for (size_t i = 0; i < problem.devices.size(); ++i) {
    const auto number = int32_t(i);
    std::cout << (i ? ", [" : "[") << problem.nodeOf(number) << ", "
              << problem.devices[i].nic << ", " << problem.devices[i].linkRate
              << ", " << problem.takesPart(number) << "]";
  }
  std::cout << "], \"atoms\": [";
  for (size_t i = 0; i < problem.atoms.size(); ++i) {
    std::cout << (i ? ", [" : "[") << problem.atoms[i].bytes << ", ";
    printList(problem.holdersOf(problem.atoms[i]));
    std::cout << ", ";
    printList(problem.needersOf(problem.atoms[i]));
    std::cout << "]";
  }
  std::cout << "], ";
}

/// The slowest of some tolls that are drawn.
Time drawTolls(const Problem &problem) {
  Time slowest;
  for (uint64_t seed = 1; seed <= 20; ++seed)
    slowest =
        std::max(slowest, timeOf(problem, testing::randomTolls(problem, seed)));
  return slowest;
}

void print(const std::string &name, Problem problem) {
  std::cout << "{\"name\": \"" << name << "\", ";
  printProblem(problem);
  problem.transit = true;
  Cut cut = findBound(problem);
  if (Cut tolls = findTolls(problem, cut, solveStriped(problem).time);
      !tolls.empty())
    cut = tolls;
  std::cout << "\"tolls\": "
            << (problem.atoms.empty() ? 0 : drawTolls(problem).seconds())
            << ", ";
  std::cout << "\"bound\": " << cut.time.seconds()
            << ", \"bound_bytes\": " << cut.time.bytes
            << ", \"bound_rate\": " << cut.time.rate << ", \"witness\": \""
            << (cut.empty() ? "" : describe(problem, cut))
            << "\", \"first_holder\": "
            << solveFirstHolder(problem).time.seconds();
  for (bool transit : {false, true}) {
    problem.transit = transit;
    const Solution solution = solveStriped(problem);
    int32_t stages = 0;
    for (const Hop &hop : solution.hops)
      stages = std::max(stages, hop.stage + 1);
    const char *prefix = transit ? "transit" : "striped";
    std::cout << ", \"" << prefix << "\": " << solution.time.seconds() << ", \""
              << prefix << "_hops\": " << solution.hops.size() << ", \""
              << prefix << "_stages\": " << stages;
  }
  std::cout << "}\n";
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 2) {
    std::cerr << "usage: " << argv[0]
              << " COUNT FIRST_SEED [uneven] | FILE...\n";
    return 2;
  }
  std::cout.precision(15);
  if (argc >= 3 && std::isdigit(static_cast<unsigned char>(argv[1][0]))) {
    const uint64_t count = std::strtoull(argv[1], nullptr, 10);
    const uint64_t first = std::strtoull(argv[2], nullptr, 10);
    const bool isUneven = argc > 3 && std::string(argv[3]) == "uneven";
    for (uint64_t seed = first; seed < first + count; ++seed)
      print("seed " + std::to_string(seed), isUneven
                                                ? testing::unevenProblem(seed)
                                                : testing::randomProblem(seed));
    return 0;
  }
  for (int i = 1; i < argc; ++i) {
    std::ostringstream text;
    text << std::ifstream(argv[i]).rdbuf();
    print(argv[i], testing::readCase(text.str()).problem);
  }
}
