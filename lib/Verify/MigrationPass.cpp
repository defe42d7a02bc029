//===- MigrationPass.cpp - A pass from one stage to the next --------------===//

#include "etc/Verify/MigrationPass.h"

#include "etc/Verify/Stages.h"

using namespace etc;
using namespace mlir;

void MigrationPass::runOnOperation() {
  MigrationOp migration = getOperation();
  const PassStages *row = findStages(getArgument());
  if (!row) {
    migration.emitError() << getArgument() << " is not in the table of stages";
    return signalPassFailure();
  }
  if (failed(checkBefore(*row, migration)) ||
      failed(runOnMigration(migration)) || failed(checkAfter(*row, migration)))
    return signalPassFailure();
  migration.setStage(row->leaves);
}
