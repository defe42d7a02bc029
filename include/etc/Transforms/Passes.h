//===- Passes.h - From a request to a proven plan -------------------------===//

#ifndef ETC_TRANSFORMS_PASSES_H
#define ETC_TRANSFORMS_PASSES_H

#include "etc/Verify/MigrationPass.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassOptions.h"

namespace etc {

/// What decides which device a rank takes.
enum class DefragmentPolicy {
  Joint, ///< devices and pairs together
  Paper, ///< the pairs, then the paper's Algorithm 2
  None,  ///< the pairs
};

#define GEN_PASS_DECL
#include "etc/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "etc/Transforms/Passes.h.inc"

/// Marks a migration for which a plan by bytes could be faster, since `by-time`
/// changed routes, or rounds by no more than estimates may be off, and which is
/// small enough to be planned once more.
inline constexpr llvm::StringLiteral byTimeMark = "etc.by_time";

/// Mark migrations whose roles `share-nodes` or `reach-nics` put on other
/// devices, with two numbers of the placement without: what its slowest cut
/// takes, in bytes that a NIC carries meanwhile, and the bytes that enter
/// nodes.
inline constexpr llvm::StringLiteral sharedNodesMark = "etc.shared_nodes",
                                     moreNicsMark = "etc.more_nics";

/// Marks a migration whose roles `within` other values of `place` are on other
/// devices, with the same numbers of these placements, by value.
inline constexpr llvm::StringLiteral narrowerMark = "etc.narrower";

/// Marks a migration whose routes or rounds might be faster, though by less
/// than the passes' `least-gain`.
inline constexpr llvm::StringLiteral quickMark = "etc.quick";

/// Marks a migration without a budget of which no rounds that were found keep
/// the default one: the least peak of any, in parts per million of the larger
/// state.
inline constexpr llvm::StringLiteral leastPeakMark = "etc.least_peak";

/// How the default policy plans.
struct PlanPipelineOptions : mlir::PassPipelineOptions<PlanPipelineOptions> {
  Option<bool> totalFirst{
      *this, "total-first", llvm::cl::init(false),
      llvm::cl::desc("The least bytes in all before the least between nodes")};
  Option<bool> byTime{
      *this, "by-time", llvm::cl::init(false),
      llvm::cl::desc("Least time of the slowest link or NIC first")};
  Option<std::string> within{
      *this, "within",
      llvm::cl::desc("Where roles are put, of where `place` allows them")};
  Option<bool> listsNarrower{
      *this, "lists-narrower", llvm::cl::init(false),
      llvm::cl::desc("What roles within narrower values of `place` come to")};
  Option<bool> shareNodes{
      *this, "share-nodes", llvm::cl::init(true),
      llvm::cl::desc("Roles that lack the same bytes come together on nodes")};
  Option<bool> reachNics{
      *this, "reach-nics", llvm::cl::init(false),
      llvm::cl::desc("Devices are chosen for their NICs, too, where nodes are "
                     "not full")};
  Option<double> leastGain{
      *this, "least-gain", llvm::cl::init(0),
      llvm::cl::desc("Seconds that least time has to save where it takes long "
                     "to plan for")};
  Option<bool> findsTolls{
      *this, "tolls", llvm::cl::init(true),
      llvm::cl::desc("Bounds of time may have tolls in place of cuts")};
  Option<double> fasterThan{
      *this, "faster-than", llvm::cl::init(0),
      llvm::cl::desc("Seconds: only a plan that may take less is wanted")};
  Option<double> mostPeak{
      *this, "most-peak", llvm::cl::init(0),
      llvm::cl::desc("Of the larger state, without a budget: no higher peak "
                     "is wanted")};
};

/// The two halves of a plan, on an `etc.migration`: from the request to who
/// lacks what, and from there to a proven plan. Between them, a chain of
/// migrations becomes one (`etc-coalesce`). Each step says why it stands where
/// it does.
void buildDemandsPipeline(mlir::OpPassManager &migration,
                          const PlanPipelineOptions &options);
void buildInstructionsPipeline(mlir::OpPassManager &migration,
                               const PlanPipelineOptions &options);

/// From the request stage to a proven plan: both, on each migration.
void buildPlanPipeline(mlir::OpPassManager &passes,
                       const PlanPipelineOptions &options);

/// How the paper's method is run.
struct PaperPipelineOptions : mlir::PassPipelineOptions<PaperPipelineOptions> {
  Option<bool> twoStage{*this, "two-stage", llvm::cl::init(false),
                        llvm::cl::desc("De-fragment in a second migration")};
  Option<CostUnit> costs{
      *this, "costs", llvm::cl::init(CostUnit::Merged),
      llvm::cl::desc("Matrix that the sketch is solved on"),
      llvm::cl::values(
          clEnumValN(CostUnit::Merged, "merged", "as the paper merges"),
          clEnumValN(CostUnit::Units, "units", "exact units"))};
};

/// From the request stage to a proven plan, or two, as the paper does it.
void buildPaperPipeline(mlir::OpPassManager &passes,
                        const PaperPipelineOptions &options);

/// Registers the paper's pipeline as `etc-paper-plan`.
void registerPaperPipeline();

/// Registers the pipelines: `etc-plan`, and the paper's.
void registerEtcPipelines();

} // namespace etc

#endif // ETC_TRANSFORMS_PASSES_H
