//===- Stages.h - What each pass requires and what it adds ------*- C++ -*-===//
//
// A migration says its stage. Each pass takes it at one stage, reads what
// earlier passes have added, adds what is its own, and leaves it at the next
// stage. The table says so for every pass, and the checks hold them to it.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_VERIFY_STAGES_H
#define ETC_VERIFY_STAGES_H

#include "dialect/Etc.h"

#include "llvm/ADT/BitmaskEnum.h"

namespace etc {

LLVM_ENABLE_BITMASK_ENUMS_IN_NAMESPACE();

/// What stands in the body of a migration. Each has a check that it is there,
/// once, and whole.
enum class Content : uint32_t {
  None = 0,
  Tensors = 1 << 0,
  Workloads = 1 << 1,
  UnitCosts = 1 << 2,
  ByteCosts = 1 << 3,
  PpCosts = 1 << 4,
  TpCosts = 1 << 5,
  MergedCosts = 1 << 6,
  Pairs = 1 << 7,
  Certificates = 1 << 8,
  Placement = 1 << 9,
  Demands = 1 << 10,
  Transfers = 1 << 11,
  /// Transfers or, where nothing was routed, demands.
  Moves = 1 << 12,
  Schedule = 1 << 13,
  Programs = 1 << 14,
  Rounds = 1 << 15,
  LLVM_MARK_AS_BITMASK_ENUM(Rounds)
};

/// A row of the table.
struct PassStages {
  llvm::StringLiteral pass; ///< as on the command line
  /// The stages that it takes: `takes`, and those after it, up to `until`.
  Stage takes, until;
  Stage leaves;
  Content reads, adds;
  /// Whether every plan needs the pass, and not only the paper's method.
  bool isNeeded;
};

/// The row of a pass; null where it has none.
const PassStages *findStages(llvm::StringRef pass);
/// The pass that adds some content, and that no other pass does before it.
llvm::StringRef passThatAdds(Content content);

/// Whether each of `contents` is there, once and whole. The error names the
/// pass that adds what is missing, or that has added it twice.
mlir::LogicalResult checkPresent(Content contents, MigrationOp migration);

/// Whether the pass may run now: the stage is one that it takes, what it reads
/// is there once and whole, and what it adds is not there yet. The error names
/// the pass that is missing, late or repeated. Takes time linear in the body.
mlir::LogicalResult checkBefore(const PassStages &row, MigrationOp migration);
/// Whether the pass has added what it is there for, once and whole.
mlir::LogicalResult checkAfter(const PassStages &row, MigrationOp migration);

} // namespace etc

#endif // ETC_VERIFY_STAGES_H
