// Every needer is served by its first holder.

#include "Finish.h"
#include "etc/Optimize/Routing/Solver.h"

#include <algorithm>

namespace etc::routing {

Solution solveFirstHolder(const Problem &problem) {
  std::vector<Hop> hops;
  for (size_t number = 0; number < problem.atoms.size(); ++number) {
    const Atom &atom = problem.atoms[number];
    const std::vector<int32_t> &holders = problem.holdersOf(atom);
    for (int32_t device : problem.needersOf(atom)) {
      auto near =
          std::find_if(holders.begin(), holders.end(), [&](int32_t holder) {
            return problem.nodeOf(holder) == problem.nodeOf(device);
          });
      const int32_t from = near == holders.end() ? holders.front() : *near;
      hops.push_back({int32_t(number), from, device, 0, 0, atom.bytes});
    }
  }
  return finish(problem, std::move(hops));
}

} // namespace etc::routing
