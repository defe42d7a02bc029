//===- LowerToInstructions.cpp - Send, Recv and Refer ---------------------===//

#include "RoundWriter.h"
#include "etc/Analysis/RoundTable.h"
#include "etc/Transforms/Passes.h"

#include "llvm/ADT/StringMap.h"

namespace etc {
#define GEN_PASS_DEF_LOWERTOINSTRUCTIONSPASS
#include "etc/Transforms/Passes.h.inc"
} // namespace etc

using namespace etc;
using namespace mlir;

namespace {
/// Creates programs without their rounds.
class ProgramBuilder {
public:
  explicit ProgramBuilder(MigrationOp migration)
      : migration(migration),
        builder(OpBuilder::atBlockEnd(&migration.getBody().front())) {}

  ProgramOp create(const DeviceProgram &program);

private:
  std::string nameOf(RoleAttr curr, RoleAttr prev);

  MigrationOp migration;
  OpBuilder builder;
  llvm::StringMap<int64_t> names;
};

struct LowerToInstructions
    : ::etc::impl::LowerToInstructionsPassBase<LowerToInstructions> {
  LogicalResult runOnMigration(MigrationOp migration) override;
};
} // namespace

/// "P0T0 <- P1T0", numbered from the second class of the same roles on.
std::string ProgramBuilder::nameOf(RoleAttr curr, RoleAttr prev) {
  std::string name =
      (curr ? curr.str() : "none") + " <- " + (prev ? prev.str() : "none");
  int64_t count = ++names[name];
  return count == 1 ? name : name + " #" + std::to_string(count);
}

ProgramOp ProgramBuilder::create(const DeviceProgram &program) {
  auto roleOf = [](ParallelAttr parallel, int64_t role) {
    return role < 0 ? RoleAttr() : parallel.getRole(role);
  };
  RoleAttr curr = roleOf(migration.getCurr(), program.curr),
           prev = roleOf(migration.getPrev(), program.prev);
  SmallVector<Attribute> bindings;
  for (ArrayRef<int64_t> devices : program.devices)
    bindings.push_back(builder.getDenseI64ArrayAttr(devices));
  // Whoever takes no role is there for what it had.
  Location loc = migration.getFieldLoc({curr ? "curr" : "prev"});
  auto op = ProgramOp::create(
      builder, loc, builder.getStringAttr(nameOf(curr, prev)), curr, prev,
      builder.getArrayAttr(bindings), {}, {}, {}, {}, {}, {});
  mlir::Block &body = op.getBody().emplaceBlock();
  for (size_t i = 0; i < bindings.size(); ++i)
    body.addArgument(builder.getType<DeviceType>(), loc);
  return op;
}

/// All chunks of an item in one type at all hops, then what is derived.
static void addCut(SmallVectorImpl<RoundWriter::Placed> &placed, unsigned type,
                   CutOp cut) {
  for (unsigned hop = 0; hop < cut.getRounds().size(); ++hop) {
    ArrayRef<int64_t> rounds = cut.getRoundsOf(hop);
    for (auto [chunk, round] : llvm::enumerate(rounds))
      placed.push_back({{type, static_cast<int64_t>(chunk), std::ssize(rounds),
                         hop, /*derives=*/false},
                        round});
  }
  if (std::optional<uint64_t> round = cut.getDerived())
    placed.push_back({{type, 0, 1, /*hop=*/0, /*derives=*/true},
                      static_cast<int64_t>(*round)});
}

LogicalResult LowerToInstructions::runOnMigration(MigrationOp migration) {
  const auto &flows = getAnalysis<ProgramFlows>();
  ArrayRef<DeviceProgram> list = getAnalysis<DevicePrograms>().getPrograms();
  const RoundTable table(migration, flows);
  RoundWriter writer(&getContext(), flows, list);
  SmallVector<RoundWriter::Placed> placed;
  for (unsigned item = 0; item < flows.getItemCount(); ++item) {
    placed.clear();
    for (unsigned type = 0; type < flows.getTable().getTypeCount(); ++type)
      if (CutOp cut = table.find(item, type))
        addCut(placed, type, cut);
    writer.add(item, placed);
  }
  ProgramBuilder builder(migration);
  for (auto [index, program] : llvm::enumerate(list))
    writer.write(index, builder.create(program));
  programs += list.size();
  // What has become instructions.
  for (Operation &op : llvm::make_early_inc_range(migration.getBody().getOps()))
    if (isa<DemandsOp, TransfersOp, ScheduleOp>(op))
      op.erase();
  return success();
}
