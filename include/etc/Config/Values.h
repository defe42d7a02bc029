//===- Values.h - The words a request may use -------------------*- C++ -*-===//
//
// The one table of what a field of a fixed vocabulary accepts. A new policy or
// placement moves from `later` to `accepted` here and nowhere else.
//
//===----------------------------------------------------------------------===//

#ifndef ETC_CONFIG_VALUES_H
#define ETC_CONFIG_VALUES_H

#include "etc/Config/Diagnostic.h"

#include <vector>

namespace etc::config {

/// The words of a field. The first accepted one is the default.
struct Vocabulary {
  std::vector<llvm::StringRef> accepted;
  /// Known, but not supported by this version.
  std::vector<llvm::StringRef> later;
};

struct Vocabularies {
  Vocabulary family, derive, policy, place, objective, order, precision,
      optimizer, block;
};

const Vocabularies &values();

/// Whether the field accepts the word; the error says what it does accept.
llvm::Error checkWord(const Vocabulary &vocabulary, llvm::StringRef word,
                      const Field &field);

} // namespace etc::config

#endif // ETC_CONFIG_VALUES_H
