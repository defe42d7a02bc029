//===- Version.h - What etc-opt was built with ------------------*- C++ -*-===//

#ifndef ETC_TOOLS_ETCOPT_VERSION_H
#define ETC_TOOLS_ETCOPT_VERSION_H

namespace llvm {
class raw_ostream;
} // namespace llvm

namespace etc {

/// The text of --version: the version on the first line, then a library a line.
void printVersion(llvm::raw_ostream &os);

} // namespace etc

#endif // ETC_TOOLS_ETCOPT_VERSION_H
