//===- MigrationPass.h - A pass from one stage to the next ------*- C++ -*-===//

#ifndef ETC_VERIFY_MIGRATIONPASS_H
#define ETC_VERIFY_MIGRATIONPASS_H

#include "dialect/Etc.h"

#include "mlir/Pass/Pass.h"

namespace etc {

/// The base of all passes on `etc.migration`. Before and after the pass it
/// checks what the table of stages (etc/Verify/Stages.h) says, and sets the
/// stage. It is no PassInstrumentation, since those can't fail a pass: so it
/// holds in every pass manager, without being registered.
class MigrationPass : public mlir::OperationPass<MigrationOp> {
protected:
  using OperationPass::OperationPass;

  /// What the pass does to a migration in a stage that it takes.
  virtual mlir::LogicalResult runOnMigration(MigrationOp migration) = 0;

private:
  void runOnOperation() final;
};

} // namespace etc

#endif // ETC_VERIFY_MIGRATIONPASS_H
