//===- Attempt.cpp - A plan that may not be the one -----------------------===//

#include "Attempt.h"

#include "core/plan/PeakRatios.h"

#include <utility>

using namespace etc;
using namespace mlir;

Attempt::Attempt(MLIRContext &context,
                 llvm::function_ref<FailureOr<PlannedRequest>()> plan)
    : context(context) {
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    diagnostics.push_back(std::move(diagnostic));
    return success();
  });
  planned = plan();
}

Attribute Attempt::findMark(StringRef mark) {
  for (MigrationOp migration : planned->module->getOps<MigrationOp>())
    if (Attribute found = migration->getAttr(mark))
      return found;
  return {};
}

std::optional<int64_t> Attempt::findLeastBudget() {
  for (Diagnostic &it : diagnostics)
    if (it.getSeverity() == DiagnosticSeverity::Error &&
        it.getMetadata().size() == 1)
      return it.getMetadata().front().getAsInteger();
  return std::nullopt;
}

double Attempt::getPeak() {
  double worst = 1;
  for (const plan::PlanIndex &index : getIndices())
    worst = std::max(worst, plan::peakRatios(index).peak);
  return worst;
}

size_t Attempt::getSize() const {
  size_t bytes = 0;
  for (ArrayRef<uint8_t> plan : planned->plans)
    bytes += plan.size();
  return bytes;
}

uint64_t Attempt::countInternode() {
  uint64_t bytes = 0;
  for (ArrayRef<uint8_t> plan : planned->plans)
    bytes += plan::fb::GetPlan(plan.data())->summary()->internode_bytes();
  return bytes;
}

PlanFigures Attempt::getFigures() {
  PlanFigures figures{findTime()};
  for (ArrayRef<uint8_t> plan : planned->plans) {
    const plan::fb::Summary &s = *plan::fb::GetPlan(plan.data())->summary();
    figures.internodeBytes += s.internode_bytes();
    figures.movedBytes += s.moved_bytes();
  }
  return figures;
}

runtime::PlanTime Attempt::findTime() {
  if (planned->times.size() != planned->plans.size()) {
    planned->times.clear();
    for (const plan::PlanIndex &index : getIndices())
      if (auto time = runtime::timeOf(index))
        planned->times.push_back(*time);
  }
  runtime::PlanTime sum;
  for (const runtime::PlanTime &time : planned->times) {
    sum.boundSeconds += time.boundSeconds;
    sum.portSeconds += time.portSeconds;
    sum.predictedSeconds += time.predictedSeconds;
    sum.pauseBoundSeconds += time.pauseBoundSeconds;
    sum.pauseSeconds += time.pauseSeconds;
  }
  return sum;
}

FailureOr<PlannedRequest> Attempt::take() {
  for (Diagnostic &diagnostic : diagnostics)
    context.getDiagEngine().emit(std::move(diagnostic));
  return std::move(planned);
}

ArrayRef<plan::PlanIndex> Attempt::getIndices() {
  if (indices.empty())
    for (ArrayRef<uint8_t> bytes : planned->plans)
      indices.emplace_back(*plan::fb::GetPlan(bytes.data()));
  return indices;
}

bool etc::isLess(const runtime::PlanTime &a, const runtime::PlanTime &b) {
  return std::pair(a.pauseSeconds, a.predictedSeconds) <
         std::pair(b.pauseSeconds, b.predictedSeconds);
}
