// One wrong solution for each constraint.

#include "etc/Optimize/Assignment/Solution.h"

#include <gtest/gtest.h>

#include <limits>

namespace etc::assignment {
namespace {

// Two roles of row 0 and one of row 1 want the two devices of column 0; column
// 1 takes one more of row 0.
const Problem kProblem{
    {2, 1}, {2, 1}, {{0, 0, {0, 5}}, {0, 1, {0, 3}}, {1, 0, {0, 4}}}};

// Written by hand: 5 + 3 + 4 = 12 = 2 * 3 + 1 * 2 + 2 * 2 + 1 * 0.
const Solution kSolution{
    {1, 1, 1}, {0, 12}, {{0, 3}, {0, 2}}, {{0, 2}, {0, 0}}};

std::string errorOf(const Problem &problem, const Solution &solution) {
  return verify(problem, solution).value_or("optimal");
}

template <typename Change> std::string errorAfter(Change change) {
  Solution solution = kSolution;
  change(solution);
  return errorOf(kProblem, solution);
}

TEST(VerifyTest, Optimal) {
  EXPECT_EQ(errorOf(kProblem, kSolution), "optimal");
  EXPECT_EQ(
      verifyCertificate(kProblem, kSolution.total, kSolution.u, kSolution.v),
      std::nullopt);
}

TEST(VerifyTest, MalformedProblem) {
  Problem problem = kProblem;
  problem.edges[2].row = 7;
  EXPECT_EQ(errorOf(problem, kSolution), "edges[2].row: 7 is not in [0, 2)");
  EXPECT_EQ(
      verifyCertificate(problem, kSolution.total, kSolution.u, kSolution.v)
          .value_or(""),
      "edges[2].row: 7 is not in [0, 2)");
}

TEST(VerifyTest, Lengths) {
  EXPECT_EQ(errorAfter([](Solution &s) { s.flow.pop_back(); }),
            "flow: expected 3 entries, got 2");
  EXPECT_EQ(errorAfter([](Solution &s) { s.u.push_back({}); }),
            "u: expected 2 entries, got 3");
  EXPECT_EQ(errorAfter([](Solution &s) { s.v.clear(); }),
            "v: expected 2 entries, got 0");
}

TEST(VerifyTest, S1Flow) {
  EXPECT_EQ(errorAfter([](Solution &s) { s.flow[1] = -1; }),
            "flow[1]: must be at least 0, got -1");
  EXPECT_EQ(errorAfter([](Solution &s) { s.flow[2] = 2; }),
            "supply[1]: the flow is 2, of 1");
  EXPECT_EQ(errorAfter([](Solution &s) {
              s.flow = {2, 0, 1};
            }),
            "capacity[0]: the flow is 3, of 2");
}

TEST(VerifyTest, S2Total) {
  EXPECT_EQ(errorAfter([](Solution &s) {
              s.total = {0, 13};
            }),
            "total: the flow weighs (0, 12), got (0, 13)");
  EXPECT_EQ(errorAfter([](Solution &s) {
              s.total = {1, 12};
            }),
            "total: the flow weighs (0, 12), got (1, 12)");
}

// Row 0's two roles on column 0 keep 10, and no certificate proves that.
TEST(VerifyTest, FeasibleButNotOptimal) {
  EXPECT_EQ(errorAfter([](Solution &s) {
              s.flow = {2, 0, 0};
              s.total = {0, 10};
            }),
            "total: the certificate proves (0, 12), got (0, 10)");
}

TEST(VerifyTest, S3Signs) {
  EXPECT_EQ(errorAfter([](Solution &s) {
              s.u[1] = {0, -1};
            }),
            "u[1]: must be at least (0, 0), got (0, -1)");
  EXPECT_EQ(errorAfter([](Solution &s) {
              s.v[1] = {-1, 5};
            }),
            "v[1]: must be at least (0, 0), got (-1, 5)");
}

TEST(VerifyTest, S4Cover) {
  EXPECT_EQ(errorAfter([](Solution &s) {
              s.u[0] = {0, 2};
            }),
            "u[0] + v[0]: (0, 4) does not cover the weight (0, 5) of edges[0]");
}

TEST(VerifyTest, S5Bound) {
  EXPECT_EQ(errorAfter([](Solution &s) {
              s.v[1] = {0, 1};
            }),
            "total: the certificate proves (0, 13), got (0, 12)");
}

// Sums that wrap around in 64 bits are not mistaken for small ones.
TEST(VerifyTest, HugeNumbers) {
  constexpr int64_t max = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(errorAfter([](Solution &s) {
              s.flow = {max, max, 1};
            }),
            "supply[0]: the flow is 18446744073709551614, of 2");
  EXPECT_EQ(errorAfter([](Solution &s) {
              s.u[0] = {max, max};
            }),
            "total: the certificate proves (18446744073709551614, "
            "18446744073709551620), got (0, 12)");
}

TEST(VerifyTest, CertificateNeedsNoFlow) {
  EXPECT_EQ(verifyCertificate(kProblem, {0, 11}, kSolution.u, kSolution.v)
                .value_or(""),
            "total: the certificate proves (0, 12), got (0, 11)");
}

} // namespace
} // namespace etc::assignment
