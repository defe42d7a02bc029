//===- TransferWriter.h - Demands become transfers ----------------*- C++
//-*-===//

#ifndef ETC_LIB_TRANSFORMS_TRANSFERWRITER_H
#define ETC_LIB_TRANSFORMS_TRANSFERWRITER_H

#include "etc/Analysis/Devices.h"
#include "etc/Analysis/Fragments.h"
#include "etc/Optimize/Sources/Solver.h"

#include "mlir/IR/Builders.h"

#include <deque>

namespace etc {

/// The demands of a migration, and the ops that say them.
struct ListedDemands {
  /// In some of the types.
  ListedDemands(DemandsOp list, const TensorTable &table,
                const llvm::SmallBitVector &types);

  Demands demands;
  std::deque<Fragment> fragments;
  llvm::DenseMap<const Fragment *, DemandOp> opOf;
};

/// Writes the transfers of demands with their sources.
class TransferWriter {
public:
  TransferWriter(DemandsOp list, const TensorTable &table, const Holdings &prev,
                 const Devices &devices);
  /// All that was listed.
  void write(const SourcedDemands &sourced, const ListedDemands &listed);

private:
  void write(const Demand &demand, llvm::ArrayRef<Source> sources, DemandOp op);
  unsigned tensorOf(const Source &source, const Fragment &fragment) const;

  mlir::OpBuilder builder;
  const mlir::Location loc;
  const TensorTable &table;
  const Holdings &prev;
  const Devices &devices;
};

} // namespace etc

#endif // ETC_LIB_TRANSFORMS_TRANSFERWRITER_H
