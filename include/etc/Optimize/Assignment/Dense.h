// The assignment problem of a square matrix of costs, as the paper states it.

#ifndef ETC_OPTIMIZE_ASSIGNMENT_DENSE_H
#define ETC_OPTIMIZE_ASSIGNMENT_DENSE_H

#include <cstdint>
#include <span>
#include <vector>

namespace etc::assignment {

/// The column of each row in an assignment of least total cost. `costs` is
/// size x size, row by row; |size * cost| <= 2^60 for each entry.
///
/// The Hungarian method (Kuhn 1955; shortest augmenting paths with potentials,
/// Jonker and Volgenant 1987) in O(size^3). Rows are served in order, and of
/// equal columns the lowest is taken: the same matrix gives the same assignment
/// on any machine.
std::vector<int64_t> solveDense(int64_t size, std::span<const int64_t> costs);

} // namespace etc::assignment

#endif // ETC_OPTIMIZE_ASSIGNMENT_DENSE_H
