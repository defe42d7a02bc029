//===- Bytecode.h - Bytecode from elsewhere ---------------------*- C++ -*-===//
//
// What MLIR's reader takes on trust.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_DIALECT_BYTECODE_H
#define ETC_DIALECT_BYTECODE_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace etc {

/// Says which section of MLIR bytecode counts more entries than it has bytes,
/// or nothing: the reader (LLVM 22) makes room for as many as are counted
/// before it reads them, so that a few bytes could ask for gigabytes. What is
/// wrong in other ways, and text, is left to the reader.
std::string findOversizedSection(llvm::StringRef input);

} // namespace etc

#endif // ETC_DIALECT_BYTECODE_H
