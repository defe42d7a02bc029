//===- Input.h - What etc-opt reads ---------------------------------------===//

#ifndef ETC_TOOLS_ETCOPT_INPUT_H
#define ETC_TOOLS_ETCOPT_INPUT_H

#include "core/plan/InputFile.h"

#include "llvm/ADT/StringRef.h"

#include <optional>
#include <string>

namespace etc {

/// The content of a regular file, or of standard input for "-". Both are
/// refused beyond `mostBytes`; errors begin with the name.
plan::Result<std::string> readInput(const std::string &name,
                                    uint64_t mostBytes);

/// Where IR is nested more deeply than MLIR's recursive parser has a stack for,
/// and than any plan is: the error, with line and column.
std::optional<std::string> findDeepNesting(llvm::StringRef text);

} // namespace etc

#endif // ETC_TOOLS_ETCOPT_INPUT_H
