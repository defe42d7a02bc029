// Brute force, and the Hungarian method on a dense matrix.

#include "References.h"

#include <algorithm>
#include <numeric>

namespace etc::assignment::testing {
namespace {

std::vector<size_t> prefixSums(const std::vector<int64_t> &counts) {
  std::vector<size_t> begins(counts.size() + 1, 0);
  std::partial_sum(counts.begin(), counts.end(), begins.begin() + 1);
  return begins;
}

// One row of the matrix enters the matching by a shortest augmenting path.
// Everything counts from 1; column 0 stands for "no column yet", and matched[0]
// is the row that enters.
class Hungarian {
public:
  explicit Hungarian(const std::vector<std::vector<Weight>> &weights)
      : weights(weights), n(weights.size()), u(n + 1), v(n + 1),
        matched(n + 1, 0), way(n + 1, 0) {}

  Weight run() {
    for (size_t row = 1; row <= n; ++row)
      enter(row);
    Weight total;
    for (size_t col = 1; col <= n; ++col)
      total += weights[matched[col] - 1][col - 1];
    return total;
  }

private:
  static constexpr Weight kInfinity{int64_t(1) << 60, 0};

  void enter(size_t row) {
    matched[0] = row;
    slack.assign(n + 1, kInfinity);
    used.assign(n + 1, false);
    size_t col = 0;
    do
      col = grow(col);
    while (matched[col] != 0);
    for (; col != 0; col = way[col])
      matched[col] = matched[way[col]];
  }

  size_t grow(size_t col) {
    used[col] = true;
    size_t row = matched[col];
    size_t next = 0;
    Weight delta = kInfinity;
    for (size_t j = 1; j <= n; ++j) {
      if (used[j])
        continue;
      Weight reduced = Weight{} - weights[row - 1][j - 1] - u[row] - v[j];
      if (reduced < slack[j]) {
        slack[j] = reduced;
        way[j] = col;
      }
      if (slack[j] < delta) {
        delta = slack[j];
        next = j;
      }
    }
    for (size_t j = 0; j <= n; ++j) {
      if (used[j]) {
        u[matched[j]] += delta;
        v[j] -= delta;
      } else {
        slack[j] -= delta;
      }
    }
    return next;
  }

  const std::vector<std::vector<Weight>> &weights;
  size_t n;
  std::vector<Weight> u, v, slack;
  std::vector<size_t> matched, way;
  std::vector<bool> used;
};

} // namespace

std::vector<std::vector<Weight>> denseMatrix(const Problem &problem) {
  std::vector<size_t> rows = prefixSums(problem.supply);
  std::vector<size_t> cols = prefixSums(problem.capacity);
  size_t n = std::max(rows.back(), cols.back());
  std::vector<std::vector<Weight>> matrix(n, std::vector<Weight>(n));
  for (const Edge &edge : problem.edges)
    for (size_t r = rows[edge.row]; r < rows[edge.row + 1]; ++r)
      for (size_t d = cols[edge.col]; d < cols[edge.col + 1]; ++d)
        matrix[r][d] = edge.weight;
  return matrix;
}

Weight bruteForce(const Problem &problem) {
  std::vector<std::vector<Weight>> matrix = denseMatrix(problem);
  std::vector<size_t> permutation(matrix.size());
  std::iota(permutation.begin(), permutation.end(), 0);
  Weight best;
  do {
    Weight total;
    for (size_t r = 0; r < permutation.size(); ++r)
      total += matrix[r][permutation[r]];
    best = std::max(best, total);
  } while (std::next_permutation(permutation.begin(), permutation.end()));
  return best;
}

Weight hungarian(const Problem &problem) {
  std::vector<std::vector<Weight>> matrix = denseMatrix(problem);
  return Hungarian(matrix).run();
}

} // namespace etc::assignment::testing
