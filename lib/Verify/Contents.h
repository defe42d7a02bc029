//===- Contents.h - Whether what passes add is there ------------*- C++ -*-===//

#ifndef ETC_LIB_VERIFY_CONTENTS_H
#define ETC_LIB_VERIFY_CONTENTS_H

#include "etc/Verify/Stages.h"

namespace etc {

/// None of `contents` is there that `pass` is the first to add.
mlir::LogicalResult checkAbsent(Content contents, llvm::StringRef pass,
                                MigrationOp migration);

} // namespace etc

#endif // ETC_LIB_VERIFY_CONTENTS_H
