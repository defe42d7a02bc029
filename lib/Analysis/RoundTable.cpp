//===- RoundTable.cpp - When each tensor moves ----------------------------===//

#include "etc/Analysis/RoundTable.h"

using namespace etc;

RoundTable::RoundTable(MigrationOp migration, const ProgramFlows &flows)
    : types(flows.getTable().getTypeCount()),
      cuts(flows.getItemCount() * types) {
  const TensorTable &table = flows.getTable();
  for (CutOp op : migration.getOnly<ScheduleOp>().getBody().getOps<CutOp>()) {
    const llvm::SmallBitVector named = table.getTypes(op.getWt());
    for (const Piece &piece : table.expand(op.getWid(), named))
      if (std::optional<unsigned> item = flows.find(piece))
        for (unsigned type : named.set_bits())
          cuts[*item * types + type] = op;
  }
}
