//===- Rules.h - What holds of a verified plan, rule by rule ----*- C++ -*-===//
//
// docs/passes/verify-plan.md has the rules. None of this shares code with a
// pass that plans: what both sides hold comes from lib/Layout, and ids are read
// by the dialect's own rules.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_LIB_VERIFY_RULES_H
#define ETC_LIB_VERIFY_RULES_H

#include "Replay.h"
#include "core/plan/plan_generated.h"

#include "llvm/ADT/DenseMap.h"

namespace etc {

enum class Rule {
  Placement = 1,
  Roles,
  Coverage,
  Liveness,
  Derivations,
  Zeroes,
  Pairing,
  Memory,
  Budget,
  Certificates,
  Optimality,
  PlanFile,
  Request,
  NextStage,
  TimeBound,
  Deferred,
  RoleBound,
  Lanes,
  Sections,
};

/// The error of a broken rule, which it names behind the message.
class Refusal {
public:
  Refusal(mlir::Operation *op, Rule rule) : diag(op->emitError()), rule(rule) {}
  ~Refusal() { diag << " (V" << static_cast<int>(rule) << ")"; }
  Refusal(const Refusal &) = delete;
  Refusal &operator=(const Refusal &) = delete;

  template <typename Value> Refusal &operator<<(Value &&value) {
    diag << std::forward<Value>(value);
    return *this;
  }
  mlir::Diagnostic &attachNote(mlir::Location loc) {
    return diag.attachNote(loc);
  }
  operator llvm::LogicalResult() const { return mlir::failure(); }

private:
  mlir::InFlightDiagnostic diag;
  Rule rule;
};

/// Where a device appears: its program, and its place in the program's lists.
struct Appearance {
  unsigned program;
  size_t place;
};

/// A migration, with what rules ask of it.
struct PlanUnderTest {
  explicit PlanUnderTest(MigrationOp migration);

  mutable MigrationOp migration; ///< ops are handles, their getters not const
  TensorTable table;
  LayoutOracle oracle;
  llvm::SmallVector<ProgramOp> programs;
  llvm::SmallVector<int64_t> nodeOf; ///< [device]
  /// By device; of those in several programs the first. V2 says that there are
  /// none.
  llvm::DenseMap<int64_t, Appearance> appearances;
};

/// V1: the placement is one that the request allows: on devices that live and
/// stay, as the request fixes it, with groups inside nodes as `place` asks for,
/// and with ranks where the sketch has them.
mlir::LogicalResult checkPlacement(const PlanUnderTest &plan);
/// V2: every device has one program at most, and its roles are those of its
/// ranks.
mlir::LogicalResult checkRoles(const PlanUnderTest &plan);
/// V3: every element of the current role is written once, and nothing else.
mlir::LogicalResult checkCoverage(const Replay &replay);
/// V4: what is read is there: held before the migration and not yet released,
/// or, of a relay, received in an earlier round. Shards are released once and
/// whole.
mlir::LogicalResult checkLiveness(const Replay &replay);
/// V4, of what a device passes on without keeping it: all of it is received
/// once, sent on in later rounds, and released behind that.
mlir::LogicalResult checkTransit(const Replay &replay);
/// V5: what is derived comes behind all of its source.
mlir::LogicalResult checkDerivations(const Replay &replay);
/// V6: only what the previous state has nowhere begins as zeroes.
mlir::LogicalResult checkZeroes(const Replay &replay);
/// V7: what a device sends to another in a round is what that one receives.
mlir::LogicalResult checkPairing(const PlanUnderTest &plan,
                                 llvm::ArrayRef<Exchanges> exchanges);
/// V8: slabs and peaks are as stated.
mlir::LogicalResult checkMemory(const Replay &replay);
/// V9: the stated peak is within the budget that the request gives.
mlir::LogicalResult checkBudget(const Replay &replay);
/// V10: the duals of every certificate prove what it states.
mlir::LogicalResult checkCertificates(const PlanUnderTest &plan);
/// V11: the plan keeps no more than the certificates allow, and as much where
/// nothing but bytes decides.
mlir::LogicalResult checkOptimality(const PlanUnderTest &plan,
                                    llvm::ArrayRef<Exchanges> exchanges);

/// V16: deferred rounds have deferred types alone, and all others nothing of
/// these but what is bound.
mlir::LogicalResult checkDeferred(const Replay &replay);
/// V16, of all programs: rounds are deferred in all of them or in none.
mlir::LogicalResult checkTail(const PlanUnderTest &plan);

/// V15: what the bound of time states has to cross the border of its devices,
/// at no higher rate.
mlir::LogicalResult checkTimeBounds(const PlanUnderTest &plan);
/// V17: whichever roles the request allows, as many bytes as the bound of all
/// roles states have to arrive, at no higher rate.
mlir::LogicalResult checkRoleBound(const PlanUnderTest &plan);
plan::fb::Place placeInFile(Place place);

} // namespace etc

#endif // ETC_LIB_VERIFY_RULES_H
