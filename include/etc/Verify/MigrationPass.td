//===- MigrationPass.td - A pass from one stage to the next -*- tablegen -*-===//

#ifndef ETC_VERIFY_MIGRATIONPASS_TD
#define ETC_VERIFY_MIGRATIONPASS_TD

include "mlir/Pass/PassBase.td"

// A pass on `etc.migration` that stands in the table of stages.
class Etc_Pass<string name> : PassBase<name, "::etc::MigrationPass"> {
  let dependentDialects = ["::etc::EtcDialect"];
}

#endif // ETC_VERIFY_MIGRATIONPASS_TD
