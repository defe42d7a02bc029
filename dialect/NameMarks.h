//===- NameMarks.h - What stands for a number in a name -------------------===//

#ifndef ETC_DIALECT_NAMEMARKS_H
#define ETC_DIALECT_NAMEMARKS_H

#include "llvm/ADT/StringRef.h"

namespace etc {

/// In the name of a tensor, for the number of a layer and of an expert.
inline constexpr llvm::StringLiteral layerMark = "{layer}";
inline constexpr llvm::StringLiteral expertMark = "{expert}";

} // namespace etc

#endif // ETC_DIALECT_NAMEMARKS_H
