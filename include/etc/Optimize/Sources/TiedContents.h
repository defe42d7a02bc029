//===- TiedContents.h - Tied tensors as the bytes that they are -----------===//

#ifndef ETC_OPTIMIZE_SOURCES_TIEDCONTENTS_H
#define ETC_OPTIMIZE_SOURCES_TIEDCONTENTS_H

#include "llvm/ADT/SmallBitVector.h"

#include <cstdint>
#include <vector>

namespace etc {

/// Bytes that the same devices hold and the same devices lack, as any tensor
/// that has them. Devices are ascending.
struct TiedContent {
  std::vector<int32_t> holders, needers;
  int64_t bytes;
};

/// What is lacking of tensors that have twins, where demands list each twin
/// apart.
struct TiedContents {
  llvm::SmallBitVector tensors; ///< that have twins
  std::vector<TiedContent> list;
};

} // namespace etc

#endif // ETC_OPTIMIZE_SOURCES_TIEDCONTENTS_H
