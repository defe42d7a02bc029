// Handing the flow between two classes out to their replicas and members.

#include "etc/Optimize/Assignment/Expand.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace etc::assignment {
namespace {

class Expander {
public:
  Expander(const Problem &problem, std::span<const int64_t> flow)
      : problem(problem), left(flow.begin(), flow.end()),
        nextReplica(problem.supply.size()),
        nextMember(problem.capacity.size()) {
    for (int64_t supply : problem.supply)
      matches.emplace_back(supply);
    for (int64_t capacity : problem.capacity)
      taken.emplace_back(capacity);
  }

  std::vector<std::vector<Match>> run() {
    for (size_t e = 0; e < left.size(); ++e)
      pairEqualIndices(problem.edges[e], left[e]);
    for (size_t e = 0; e < left.size(); ++e)
      pairLowest(problem.edges[e], left[e]);
    return std::move(matches);
  }

private:
  void pairEqualIndices(const Edge &edge, int64_t &count) {
    int64_t common =
        std::min(problem.supply[edge.row], problem.capacity[edge.col]);
    for (int64_t d = 0; d < common && count > 0; ++d)
      if (!matches[edge.row][d].isMade() && !taken[edge.col][d]) {
        match(edge, d, d);
        --count;
      }
  }

  // The first free replica and member of a class only go up, so each is passed
  // over once.
  void pairLowest(const Edge &edge, int64_t count) {
    int64_t &replica = nextReplica[edge.row];
    int64_t &member = nextMember[edge.col];
    for (; count > 0; --count) {
      while (matches[edge.row][replica].isMade())
        ++replica;
      while (taken[edge.col][member])
        ++member;
      match(edge, replica, member);
    }
  }

  void match(const Edge &edge, int64_t replica, int64_t member) {
    matches[edge.row][replica] = {edge.col, member};
    taken[edge.col][member] = true;
  }

  const Problem &problem;
  std::vector<int64_t> left; // [edges] flow not yet handed out
  std::vector<int64_t> nextReplica;
  std::vector<int64_t> nextMember;
  std::vector<std::vector<Match>> matches; // [rows][replicas]
  std::vector<std::vector<bool>> taken;    // [columns][members]
};

} // namespace

std::vector<std::vector<Match>> expand(const Problem &problem,
                                       std::span<const int64_t> flow) {
  assert(flow.size() == problem.edges.size());
  return Expander(problem, flow).run();
}

} // namespace etc::assignment
