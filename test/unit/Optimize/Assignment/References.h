// Slow and simple solvers to compare with. Both spread the classes out into
// single roles and devices.

#ifndef ETC_TEST_UNIT_OPTIMIZE_ASSIGNMENT_REFERENCES_H
#define ETC_TEST_UNIT_OPTIMIZE_ASSIGNMENT_REFERENCES_H

#include "etc/Optimize/Assignment/Problem.h"

#include <vector>

namespace etc::assignment::testing {

/// weights[r][d] of single role r on single device d, square, zero where there
/// is no edge or no role or device.
std::vector<std::vector<Weight>> denseMatrix(const Problem &problem);

/// The best total over all permutations. For at most about 8 roles and devices.
Weight bruteForce(const Problem &problem);

/// The best total by the O(n^3) Hungarian method.
Weight hungarian(const Problem &problem);

} // namespace etc::assignment::testing

#endif // ETC_TEST_UNIT_OPTIMIZE_ASSIGNMENT_REFERENCES_H
