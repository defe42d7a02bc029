//===- Comparison.h - What two descriptions differ in -----------*- C++ -*-===//

#ifndef ETC_LIB_VERIFY_COMPARISON_H
#define ETC_LIB_VERIFY_COMPARISON_H

#include "Rules.h"

namespace etc {

/// A number that both sides of a boundary have.
struct NumberPair {
  llvm::StringRef name;
  int64_t found, expected;
};

/// Compares what was made with what it was made from, and refuses the first
/// difference.
class Comparison {
public:
  /// `made` and `source` are what errors call the two.
  Comparison(MigrationOp migration, Rule rule, llvm::StringRef made,
             llvm::StringRef source)
      : migration(migration), rule(rule), made(made), source(source) {}

  mlir::LogicalResult numbers(const llvm::Twine &of,
                              llvm::ArrayRef<NumberPair> pairs) const;
  mlir::LogicalResult lists(const llvm::Twine &name,
                            llvm::ArrayRef<int64_t> found,
                            llvm::ArrayRef<int64_t> expected) const;
  mlir::LogicalResult words(const llvm::Twine &name, llvm::StringRef found,
                            llvm::StringRef expected) const;

private:
  mutable MigrationOp migration; ///< ops are handles
  Rule rule;
  llvm::StringRef made, source;
};

} // namespace etc

#endif // ETC_LIB_VERIFY_COMPARISON_H
