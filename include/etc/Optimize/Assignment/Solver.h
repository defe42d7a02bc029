// The exact assignment solver.

#ifndef ETC_OPTIMIZE_ASSIGNMENT_SOLVER_H
#define ETC_OPTIMIZE_ASSIGNMENT_SOLVER_H

#include "etc/Optimize/Assignment/Solution.h"

namespace etc::assignment {

/// An optimal solution with its certificate. The problem must be well formed:
/// check(problem) says nothing.
///
/// Connected components are solved one by one, equal ones once. Each by
/// successive shortest paths (Jewell 1958, Iri 1960; with potentials: Edmonds
/// and Karp 1972, Tomizawa 1971) on a residual graph with capacities, where
/// "unmatched" is a sink of weight zero at every row. Only integers; rows are
/// served in order, and among equal choices the lowest index wins: the same
/// problem gives the same solution on any machine.
Solution solve(const Problem &problem);

} // namespace etc::assignment

#endif // ETC_OPTIMIZE_ASSIGNMENT_SOLVER_H
