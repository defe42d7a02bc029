//===- Attempt.h - A plan that may not be the one -------------------------===//

#ifndef ETC_LIB_PLANNER_ATTEMPT_H
#define ETC_LIB_PLANNER_ATTEMPT_H

#include "core/plan/PlanIndex.h"
#include "etc/Planner/PlanRequest.h"

#include "mlir/IR/Diagnostics.h"

namespace etc {

/// What plans of a request are compared by.
struct PlanFigures {
  runtime::PlanTime time;
  uint64_t internodeBytes = 0, movedBytes = 0;
};

/// Plans whose diagnostics wait until it is known whether they are wanted.
class Attempt {
public:
  Attempt(mlir::MLIRContext &context,
          llvm::function_ref<mlir::FailureOr<PlannedRequest>()> plan);

  bool isGood() const { return succeeded(planned); }
  /// A mark that passes left on some migration, or nothing.
  mlir::Attribute findMark(llvm::StringRef mark);
  bool isOnePlan() const { return planned->plans.size() == 1; }
  /// Where a memory budget was refused: the least found, in its unit.
  std::optional<int64_t> findLeastBudget();
  /// The worst peak of a device over its larger state.
  double getPeak();
  /// Of all plans, in bytes.
  size_t getSize() const;
  uint64_t countInternode();
  PlanFigures getFigures();
  /// Of migrations that follow each other; all of one request state rates.
  runtime::PlanTime findTime();
  /// Memory that the next plan can use.
  void dropIndices() { indices = {}; }
  mlir::FailureOr<PlannedRequest> take();

private:
  llvm::ArrayRef<plan::PlanIndex> getIndices();

  mlir::MLIRContext &context;
  std::vector<mlir::Diagnostic> diagnostics;
  mlir::FailureOr<PlannedRequest> planned = mlir::failure();
  std::vector<plan::PlanIndex> indices; ///< of the plans, once asked for
};

/// Whether a plan is better than any of other roles could be, by what a mark
/// says of these: what their slowest cut takes, and the bytes that enter nodes.
bool isSurelyBetter(const request::Request &request, Attempt &plan,
                    llvm::ArrayRef<int64_t> mark);
/// Whether a plan takes less time than another one, or moves fewer bytes where
/// these come first or both take about as long.
bool isBetter(const request::Request &request, const PlanFigures &plan,
              const PlanFigures &than);

/// The pause comes first: what is deferred stops nobody.
bool isLess(const runtime::PlanTime &a, const runtime::PlanTime &b);

} // namespace etc

#endif // ETC_LIB_PLANNER_ATTEMPT_H
