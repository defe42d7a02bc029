//===- Values.cpp - The words a request may use ---------------------------===//

#include "etc/Config/Values.h"

#include "llvm/ADT/STLExtras.h"

using namespace etc::config;

const Vocabularies &etc::config::values() {
  static const Vocabularies table = {
      .family = {{"gpt"}, {}},
      .types = {{"param", "master", "exp_avg", "exp_avg_sq"}, {}},
      .derive = {{"param", "none"}, {}},
      .policy = {{"best", "paper"}, {}},
      .place = {{"pack", "tp", "any"}, {}},
  };
  return table;
}

llvm::ArrayRef<llvm::StringRef> etc::config::typeNames() {
  return values().types.accepted;
}

llvm::Error etc::config::checkWord(const Vocabulary &vocabulary,
                                   llvm::StringRef word, const Field &field) {
  if (llvm::is_contained(vocabulary.accepted, word))
    return llvm::Error::success();
  if (llvm::is_contained(vocabulary.later, word))
    return malformed(field, "\"" + word + "\" is not supported yet; " +
                                suggestName("", vocabulary.accepted));
  return malformed(field, "unknown value \"" + word + "\"; " +
                              suggestName(word, vocabulary.accepted));
}
