//===- Canonicalize.cpp - The canonical form of workload ids --------------===//

#include "dialect/Workloads.h"

#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/STLExtras.h"

using namespace etc;
using namespace mlir;

/// Whether two of the pieces, which are sorted, share an element.
static bool haveOverlap(ArrayRef<Piece> pieces) {
  for (ArrayRef<Piece> rest = pieces; !rest.empty(); rest = rest.drop_front())
    for (const Piece &other : rest.drop_front()) {
      if (!other.isOfSame(rest.front()))
        break;
      if (intersects(rest.front(), other))
        return true;
    }
  return false;
}

ArrayAttr etc::canonicalWorkloads(const TensorTable &table, ArrayAttr ids,
                                  const llvm::SmallBitVector &types) {
  SmallVector<Piece> pieces = table.expand(ids, types);
  llvm::sort(pieces);
  if (pieces.empty() || haveOverlap(pieces))
    return ids;
  return foldWorkloads(table, std::move(pieces), types);
}

namespace {
struct CanonicalIds final : OpInterfaceRewritePattern<WorkloadsOpInterface> {
  using OpInterfaceRewritePattern::OpInterfaceRewritePattern;

  LogicalResult matchAndRewrite(WorkloadsOpInterface op,
                                PatternRewriter &rewriter) const override {
    if (op.isOrdered())
      return failure();
    TensorTable table(op->getParentOfType<MigrationOp>());
    llvm::SmallBitVector types = table.getTypes(op.getWt());
    ArrayAttr ids = canonicalWorkloads(table, op.getWid(), types),
              names = table.getTypeNames(types);
    if (ids == op.getWid() && names == op.getWt())
      return failure();
    rewriter.modifyOpInPlace(op, [&] {
      op.setWidAttr(ids);
      op.setWtAttr(names);
    });
    return success();
  }
};

/// All types need no names.
struct CanonicalWorkload final : OpRewritePattern<WorkloadOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(WorkloadOp op,
                                PatternRewriter &rewriter) const override {
    auto migration = cast<MigrationOp>(op->getParentOp());
    // What an inventory lists is as its user wrote it.
    if (migration.getParallel(op.getSide()).getInventory())
      return failure();
    TensorTable table(migration);
    llvm::SmallBitVector types = table.getTypes(op.getWtAttr());
    ArrayAttr ids = canonicalWorkloads(table, op.getWid(), types),
              names = types.all() ? ArrayAttr() : table.getTypeNames(types);
    if (ids == op.getWid() && names == op.getWtAttr())
      return failure();
    rewriter.modifyOpInPlace(op, [&] {
      op.setWidAttr(ids);
      op.setWtAttr(names);
    });
    return success();
  }
};
} // namespace

void EtcDialect::getCanonicalizationPatterns(RewritePatternSet &results) const {
  results.add<CanonicalIds, CanonicalWorkload>(getContext());
}
