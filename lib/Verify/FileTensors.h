//===- FileTensors.h - V12: the tensors of a plan file ----------*- C++ -*-===//

#ifndef ETC_LIB_VERIFY_FILETENSORS_H
#define ETC_LIB_VERIFY_FILETENSORS_H

#include "Comparison.h"
#include "core/plan/plan_generated.h"

namespace etc {

/// Numbers of a plan file, as attributes have them; none where it has no list.
template <typename Vector>
llvm::SmallVector<int64_t> numbersOf(const Vector *list) {
  return list ? llvm::SmallVector<int64_t>(list->begin(), list->end())
              : llvm::SmallVector<int64_t>();
}

/// A plan file has the tensors of its migration, and no others: each with its
/// element type and shapes, with the twin of a tied copy and the source of a
/// cast. Takes time linear in the tensors of the file.
mlir::LogicalResult checkFileTensors(MigrationOp migration,
                                     const plan::fb::Plan &plan,
                                     const Comparison &comparison);

} // namespace etc

#endif // ETC_LIB_VERIFY_FILETENSORS_H
